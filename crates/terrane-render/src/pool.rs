//! Tiles on the GPU: one array texture, a layer a tile, least recently used
//! tiles leave first.

use crate::uniform::NO_GROUND_M;
use crate::{Gpu, RenderError};
use std::collections::BTreeMap;
use terrane_surface::{TILE_POSTS, TileKey};
use terrane_tiles::Archive;

#[derive(Debug)]
pub(crate) struct TilePool {
    texture: wgpu::Texture,
    pub(crate) view: wgpu::TextureView,
    layers: BTreeMap<TileKey, Resident>,
    free: Vec<u32>,
    frame: u64,
}

#[derive(Debug, Clone, Copy)]
struct Resident {
    layer: u32,
    last_frame: u64,
}

impl TilePool {
    /// Room for as many tiles as there are, within the device's limit.
    pub(crate) fn new(gpu: &Gpu, tile_count: usize) -> Self {
        let layers = (tile_count as u32).clamp(1, gpu.device.limits().max_texture_array_layers);
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("tile heights"),
            size: wgpu::Extent3d { width: TILE_POSTS, height: TILE_POSTS, depth_or_array_layers: layers },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::R32Float,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let view = crate::maps::array_view(&texture);
        Self { texture, view, layers: BTreeMap::new(), free: (0..layers).rev().collect(), frame: 0 }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.free.len() + self.layers.len()
    }

    /// Makes tiles resident, uploading those that are not, and returns their
    /// layers in order.
    pub(crate) fn require(&mut self, gpu: &Gpu, archive: &Archive, tiles: &[TileKey]) -> Result<Vec<u32>, RenderError> {
        self.frame += 1;
        for tile in tiles {
            if let Some(resident) = self.layers.get_mut(tile) {
                resident.last_frame = self.frame;
            }
        }
        tiles.iter().map(|tile| self.require_one(gpu, archive, *tile)).collect()
    }

    fn require_one(&mut self, gpu: &Gpu, archive: &Archive, tile: TileKey) -> Result<u32, RenderError> {
        if let Some(resident) = self.layers.get(&tile) {
            return Ok(resident.layer);
        }
        let layer = match self.free.pop() {
            Some(layer) => layer,
            None => self.evict().ok_or_else(|| RenderError::Device("more tiles in one picture than fit".into()))?,
        };
        let no_ground = || vec![f32::NAN; (TILE_POSTS * TILE_POSTS) as usize];
        let mut heights = archive.tile(tile)?.map_or_else(no_ground, |tile| tile.heights_m());
        for height in heights.iter_mut().filter(|height| height.is_nan()) {
            *height = NO_GROUND_M;
        }
        crate::maps::write_layer(
            gpu,
            &self.texture,
            0,
            layer,
            (TILE_POSTS, TILE_POSTS),
            4,
            bytemuck::cast_slice(&heights),
        );
        self.layers.insert(tile, Resident { layer, last_frame: self.frame });
        Ok(layer)
    }

    fn evict(&mut self) -> Option<u32> {
        let oldest = self
            .layers
            .iter()
            .filter(|(_, r)| r.last_frame < self.frame)
            .min_by_key(|(tile, r)| (r.last_frame, **tile));
        let tile = *oldest?.0;
        self.layers.remove(&tile).map(|resident| resident.layer)
    }
}
