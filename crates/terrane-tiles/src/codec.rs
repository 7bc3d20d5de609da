//! A tile as bytes: differences of neighbours, their bytes in planes, zstd.
//!
//! The block begins with one byte: bits 0 to 2 count the byte planes, bit 3
//! says that a hole mask follows, bit 4 a mask of filled posts. Behind it lies
//! one zstd frame: masks (a bit a post, low bits first), then planes.

use crate::code::{HOLE, HeightCode};
use crate::tile::{SIDE, STORED, Tile};
use multiversion::multiversion;
use std::cell::RefCell;

const PLANES: u8 = 0b111;
const HAS_HOLES: u8 = 1 << 3;
const HAS_FILLED: u8 = 1 << 4;
const MASK_BYTES: usize = STORED.div_ceil(8);
/// Fast, and within a few per cent of the higher levels on differences.
const COMPRESSION_LEVEL: i32 = 1;

thread_local! {
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses bytes, with this thread's compressor.
pub(crate) fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        if slot.is_none() {
            let mut compressor = zstd::bulk::Compressor::new(COMPRESSION_LEVEL)?;
            // Short matches in what is nearly noise cost time both ways and
            // save nothing.
            compressor.set_parameter(zstd::zstd_safe::CParameter::MinMatch(7))?;
            *slot = Some(compressor);
        }
        slot.as_mut().map_or_else(|| Ok(vec![]), |compressor| compressor.compress(bytes))
    })
}

/// The reverse; at most `capacity` bytes come out.
pub(crate) fn decompress(bytes: &[u8], capacity: usize) -> std::io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = Some(zstd::bulk::Decompressor::new()?);
        }
        slot.as_mut().map_or_else(|| Ok(vec![]), |decompressor| decompressor.decompress(bytes, capacity))
    })
}

/// A tile's block.
pub(crate) fn encode(tile: &Tile) -> std::io::Result<Vec<u8>> {
    let has_holes = tile.words.contains(&HOLE);
    let differences = if has_holes { differences(&without_holes(&tile.words)) } else { differences(&tile.words) };
    let used = differences.iter().fold(0, |bits, word| bits | word);
    let planes = (32 - used.leading_zeros()).div_ceil(8) as usize;
    let filled = tile.filled.as_ref().filter(|filled| filled.contains(&true));
    let mut bytes = Vec::with_capacity(2 * MASK_BYTES + planes * STORED);
    if has_holes {
        push_mask(&mut bytes, tile.words.iter().map(|word| *word == HOLE));
    }
    if let Some(filled) = filled {
        push_mask(&mut bytes, filled.iter().copied());
    }
    let values = bytes.len();
    bytes.resize(values + planes * STORED, 0);
    split_planes(&differences, &mut bytes[values..]);
    let head = planes as u8 | if has_holes { HAS_HOLES } else { 0 } | if filled.is_some() { HAS_FILLED } else { 0 };
    let mut block = vec![head];
    block.extend(compress(&bytes)?);
    Ok(block)
}

/// The lowest bytes of all words, then the next ones, as far as there is room.
/// Wide registers where the processor has them: the same bits.
#[multiversion(targets("x86_64+avx+avx2"))]
fn split_planes(words: &[u32], planes: &mut [u8]) {
    for (plane, out) in planes.chunks_exact_mut(words.len()).enumerate() {
        out.iter_mut().zip(words).for_each(|(byte, word)| *byte = (word >> (8 * plane)) as u8);
    }
}

/// A tile from its block; `None` when the block is no tile.
pub(crate) fn decode(block: &[u8], code: HeightCode) -> Option<Tile> {
    let (&head, body) = block.split_first()?;
    let planes = usize::from(head & PLANES);
    let masks = (head & HAS_HOLES).count_ones() as usize + (head & HAS_FILLED).count_ones() as usize;
    let length = masks * MASK_BYTES + planes * STORED;
    let bytes = decompress(body, length).ok().filter(|bytes| bytes.len() == length && planes <= 4)?;
    let (masks, values) = bytes.split_at(masks * MASK_BYTES);
    let mut masks = masks.chunks_exact(MASK_BYTES);
    let holes = (head & HAS_HOLES != 0).then(|| masks.next()).flatten();
    let filled = (head & HAS_FILLED != 0).then(|| masks.next()).flatten();

    let mut words = vec![0_i32; STORED];
    let mut differences = vec![0_u32; STORED];
    for (plane, bytes) in values.chunks_exact(STORED).enumerate() {
        differences.iter_mut().zip(bytes).for_each(|(word, byte)| *word |= u32::from(*byte) << (8 * plane));
    }
    for row in 0..SIDE {
        let (above, here) = words.split_at_mut(row * SIDE);
        let above = above.last_chunk::<SIDE>().unwrap_or(&[0; SIDE]);
        let mut sum = 0_i32;
        for ((word, above), difference) in here.iter_mut().zip(above).zip(&differences[row * SIDE..(row + 1) * SIDE]) {
            sum = sum.wrapping_add((difference >> 1) as i32 ^ -((difference & 1) as i32));
            *word = above.wrapping_add(sum);
        }
    }
    if let Some(holes) = holes {
        words.iter_mut().enumerate().filter(|(k, _)| bit(holes, *k)).for_each(|(_, word)| *word = HOLE);
    }
    let filled = filled.map(|mask| (0..STORED).map(|k| bit(mask, k)).collect());
    Some(Tile { code, words, filled })
}

fn push_mask(bytes: &mut Vec<u8>, bits: impl Iterator<Item = bool>) {
    let first = bytes.len();
    bytes.resize(first + MASK_BYTES, 0);
    bits.enumerate().filter(|(_, bit)| *bit).for_each(|(k, _)| bytes[first + k / 8] |= 1 << (k % 8));
}

fn bit(mask: &[u8], k: usize) -> bool {
    mask[k / 8] >> (k % 8) & 1 != 0
}

/// Each word against the plane through the three before it, west, north and
/// north-west; small differences of either sign become small numbers. Wide
/// registers where the processor has them: the same bits.
#[multiversion(targets("x86_64+avx+avx2"))]
fn differences(words: &[i32]) -> Vec<u32> {
    let mut differences = vec![0; STORED];
    let mut steps = [0_i32; SIDE];
    let mut above: &[i32] = &[0; SIDE];
    for (row, out) in words.chunks_exact(SIDE).zip(differences.chunks_exact_mut(SIDE)) {
        steps.iter_mut().zip(row).zip(above).for_each(|((step, word), above)| *step = word.wrapping_sub(*above));
        let zigzag = |difference: i32| ((difference << 1) ^ (difference >> 31)) as u32;
        out[0] = zigzag(steps[0]);
        for (out, pair) in out[1..].iter_mut().zip(steps.windows(2)) {
            *out = zigzag(pair[1].wrapping_sub(pair[0]));
        }
        above = row;
    }
    differences
}

/// Words with holes replaced by what is predicted there, which costs nothing.
fn without_holes(words: &[i32]) -> Vec<i32> {
    let mut out = words.to_vec();
    for k in 0..STORED {
        if out[k] == HOLE {
            let (row, column) = (k / SIDE, k % SIDE);
            let at = |r: usize, c: usize| out[r * SIDE + c];
            out[k] = match (row, column) {
                (0, 0) => 0,
                (0, c) => at(0, c - 1),
                (r, 0) => at(r - 1, 0),
                (r, c) => at(r, c - 1).wrapping_add(at(r - 1, c)).wrapping_sub(at(r - 1, c - 1)),
            };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(k: usize) -> i32 {
        ((k as u64).wrapping_mul(6_364_136_223_846_793_005) >> 40) as i32
    }

    #[test]
    fn tiles_come_back_word_for_word() {
        let cases: [&dyn Fn(usize) -> i32; 5] =
            [&|_| 0, &|k| (k / SIDE) as i32 * 30 - (k % SIDE) as i32 * 7, &|k| noise(k) % 100, &noise, &|k| {
                if k % 5 == 0 { i32::MAX } else { -i32::MAX }
            }];
        for (index, case) in cases.iter().enumerate() {
            for holes in [0, 1, 7] {
                let hole = |k: usize| holes > 0 && (k * 31) % 17 < holes || (holes == 7 && k == 0);
                let words: Vec<i32> = (0..STORED).map(|k| if hole(k) { HOLE } else { case(k) }).collect();
                let filled = (holes == 1).then(|| (0..STORED).map(|k| k % 3 == 0).collect());
                let tile = Tile { code: HeightCode::Steps(0.5), words, filled };
                let block = encode(&tile).unwrap();
                assert_eq!(decode(&block, tile.code).unwrap(), tile, "case {index}, {holes}");
                assert!(decode(&block[..block.len() - 1], tile.code).is_none());
            }
        }
    }

    #[test]
    fn a_plane_takes_next_to_nothing() {
        let words = (0..STORED).map(|k| (k / SIDE) as i32 * 30 - (k % SIDE) as i32 * 7).collect();
        let block = encode(&Tile { code: HeightCode::Float, words, filled: None }).unwrap();
        assert!(block.len() < 200, "{}", block.len());
    }
}
