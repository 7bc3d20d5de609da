//! Content keys: what a baked artefact or a picture was made from.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A 256-bit content key (BLAKE3), shown as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentKey([u8; 32]);

impl ContentKey {
    /// The key of some bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The raw key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A key from its raw bytes, as read back from a file.
    pub fn from_raw(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The first 16 hexadecimal digits, for file names.
    pub fn short(&self) -> String {
        self.to_string()[..16].to_owned()
    }
}

impl fmt::Display for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentKey({})", self.short())
    }
}

impl Serialize for ContentKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let invalid = || serde::de::Error::custom("a content key is 64 hexadecimal digits");
        if text.len() != 64 || !text.is_ascii() {
            return Err(invalid());
        }
        let mut key = [0; 32];
        for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| invalid())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| invalid())?;
        }
        Ok(Self(key))
    }
}

/// Builds a key from labelled parts. Each part is framed by its length, so two
/// different lists of parts never run together into the same bytes.
#[derive(Debug, Clone)]
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// Begins a key of one kind of thing under one rule version.
    pub fn new(kind: &str, rule_version: u32) -> Self {
        Self(blake3::Hasher::new()).bytes("kind", kind.as_bytes()).bytes("rule", &rule_version.to_le_bytes())
    }

    /// Adds labelled bytes.
    pub fn bytes(mut self, label: &str, bytes: &[u8]) -> Self {
        for part in [label.as_bytes(), bytes] {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
        self
    }

    /// Adds labelled numbers, bit for bit.
    pub fn numbers(self, label: &str, numbers: &[f64]) -> Self {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_bits().to_le_bytes()).collect();
        self.bytes(label, &bytes)
    }

    /// Adds another key.
    pub fn key(self, label: &str, key: &ContentKey) -> Self {
        self.bytes(label, key.as_bytes())
    }

    /// The key.
    pub fn finish(self) -> ContentKey {
        ContentKey(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        let a = KeyBuilder::new("t", 1).bytes("ab", b"c").finish();
        let b = KeyBuilder::new("t", 1).bytes("a", b"bc").finish();
        assert_ne!(a, b);
    }

    #[test]
    fn a_key_survives_json() {
        let key = ContentKey::of_bytes(b"x");
        let text = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<ContentKey>(&text).unwrap(), key);
        assert!(serde_json::from_str::<ContentKey>("\"zz\"").is_err());
    }
}
