//! Plain structs laid out as the engine's shader modules declare them.

use bytemuck::{Pod, Zeroable};

/// `View` of `shaders/engine/view.wgsl`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
pub(crate) struct ViewUniform {
    pub clip_from_rel: [[f32; 4]; 4],
    pub forward: [f32; 3],
    pub parallel: f32,
    pub eye_block: [i32; 2],
    pub eye_in_block_m: [f32; 2],
    pub eye_in_cell_m: [f32; 2],
    pub eye_high_m: f32,
    pub eye_low_m: f32,
    pub posting_m: f32,
    pub pre_exposure: f32,
    pub map_count: i32,
    pub sun_radius: f32,
    pub sun_direction: [f32; 3],
    pub reserved: f32,
    pub sun_illuminance: [f32; 3],
    pub reserved_a: f32,
    pub sky_luminance: [f32; 3],
    pub reserved_b: f32,
}

/// `SiteMap` of `shaders/engine/maps.wgsl`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
pub(crate) struct MapUniform {
    pub first_post_rel_m: [f32; 2],
    pub posting_m: f32,
    pub levels: i32,
    pub posts: [i32; 2],
    pub reserved: [i32; 2],
}

/// `MAX_MAPS` of `shaders/engine/maps.wgsl`.
pub(crate) const MAX_MAPS: usize = 8;

/// `NO_GROUND_M` of `shaders/engine/maps.wgsl`.
pub(crate) const NO_GROUND_M: f32 = -1.0e30;

/// `Tile` of `shaders/engine/tile.wgsl`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
pub(crate) struct TileInstance {
    pub first_post: [i32; 2],
    pub stride: i32,
    pub layer: i32,
    pub coarser_sides: u32,
    pub label: u32,
    pub joined_sides: u32,
    pub reserved: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use naga::TypeInner;

    /// Sizes of a struct's members as naga lays them out.
    fn layout(file: &str, name: &str) -> (u32, Vec<u32>) {
        let files = terrane_assets::library_files();
        let (_, bytes) = files.iter().find(|(address, _)| address.ends_with(file)).unwrap();
        let text = std::str::from_utf8(bytes).unwrap();
        let text: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        // Only the struct itself is needed; the rest imports other modules.
        let start = text.find(&format!("struct {name} ")).unwrap();
        let end = start + text[start..].find('}').unwrap() + 1;
        let module = naga::front::wgsl::parse_str(&text[start..end]).unwrap();
        let (_, found) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).unwrap();
        match &found.inner {
            TypeInner::Struct { members, span } => (*span, members.iter().map(|member| member.offset).collect()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn structs_lie_in_memory_as_the_shaders_declare_them() {
        let (span, offsets) = layout("engine/view.wgsl", "View");
        assert_eq!(span as usize, size_of::<ViewUniform>());
        assert_eq!(offsets[1] as usize, std::mem::offset_of!(ViewUniform, forward));
        assert_eq!(offsets[5] as usize, std::mem::offset_of!(ViewUniform, eye_in_cell_m));
        assert_eq!(offsets[12] as usize, std::mem::offset_of!(ViewUniform, sun_direction));
        assert_eq!(offsets[16] as usize, std::mem::offset_of!(ViewUniform, sky_luminance));
        let (span, offsets) = layout("engine/maps.wgsl", "SiteMap");
        assert_eq!(span as usize, size_of::<MapUniform>());
        assert_eq!(offsets[3] as usize, std::mem::offset_of!(MapUniform, posts));
        let (span, offsets) = layout("engine/tile.wgsl", "Tile");
        assert_eq!(span as usize, size_of::<TileInstance>());
        assert_eq!(offsets[4] as usize, std::mem::offset_of!(TileInstance, label));
    }
}
