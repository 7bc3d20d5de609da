//! Where the layers of a stage come from.

use crate::layer_text::check_bytes;
use crate::scan::TextFault;
use openusd::ar::{self, Asset, DefaultResolver, ResolvedPath, Resolver};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use terrane_assets::{AssetError, AssetLocation, AssetRoots};

/// Marks an identifier that nothing resolves, so that it stays unresolved
/// however often it is asked for.
const UNRESOLVABLE: &str = "unresolvable:";

/// What the resolver knows about its work; the reader turns it into messages.
#[derive(Default)]
pub(crate) struct ResolverLog {
    /// By identifier: what was authored, and why it can't be had when the rules
    /// refused it.
    attempts: BTreeMap<String, Attempt>,
    /// By resolved path: what is wrong with the layer's text.
    faults: BTreeMap<String, TextFault>,
}

/// One authored path.
#[derive(Clone)]
pub(crate) struct Attempt {
    /// As authored.
    pub authored: String,
    /// Why the rules refuse it.
    pub refused: Option<Rc<AssetError>>,
}

impl ResolverLog {
    /// What is known about a layer identifier.
    pub fn attempt(&self, identifier: &str) -> Option<&Attempt> {
        self.attempts.get(identifier)
    }

    /// What is wrong with the text of a layer, or of one in a package, if it was
    /// found before parsing.
    pub fn fault(&self, resolved: &str) -> Option<&TextFault> {
        let packaged = || self.faults.iter().find(|(layer, _)| layer.starts_with(&format!("{resolved}[")));
        self.faults.get(resolved).or_else(|| packaged().map(|(_, fault)| fault))
    }
}

/// Resolves `lunco://`, `twin://` and relative paths by terrane's rules, and
/// looks at text before the parser sees it.
#[derive(Clone)]
pub(crate) struct StageResolver {
    roots: Rc<AssetRoots>,
    override_root: Option<PathBuf>,
    packages: Rc<DefaultResolver>,
    log: Rc<RefCell<ResolverLog>>,
}

impl StageResolver {
    pub fn new(roots: AssetRoots) -> Self {
        let override_root = roots.library_override.as_ref().and_then(|folder| folder.canonicalize().ok());
        Self { roots: Rc::new(roots), override_root, packages: Rc::new(DefaultResolver::new()), log: Rc::default() }
    }

    pub fn log(&self) -> std::cell::Ref<'_, ResolverLog> {
        self.log.borrow()
    }

    /// The identifier of an authored path. Library layers are known by their
    /// `lunco://` address even when a folder overrides the library, so that
    /// what they reference stays in the library too.
    fn identify(&self, authored: &str, anchor: Option<&str>) -> Result<String, AssetError> {
        let portable = authored.replace('\\', "/");
        let library = portable.strip_prefix("lunco://").map(str::to_owned).or_else(|| {
            let anchor = anchor?.strip_prefix("lunco://")?;
            let folder = anchor.rsplit_once('/').map_or("", |(folder, _)| folder);
            let relative = !portable.contains("://") && !portable.starts_with('/');
            relative.then(|| format!("{folder}/{portable}"))
        });
        if let Some(address) = library {
            let Some(address) = fold_dots(&address) else {
                return Err(AssetError::OutsideLibrary { authored: authored.to_owned() });
            };
            let location = self.roots.resolve(&format!("lunco://{address}"), None)?;
            return Ok(match location {
                // A package is read by its file name.
                AssetLocation::File(file) if address.ends_with(".usdz") => canonical(&file),
                _ => format!("lunco://{address}"),
            });
        }
        if Path::new(&portable).is_absolute()
            && let (Some(root), Ok(file)) = (&self.override_root, Path::new(&portable).canonicalize())
            && file.starts_with(root)
        {
            return Ok(canonical(&file));
        }
        match self.roots.resolve(authored, anchor)? {
            AssetLocation::File(file) => Ok(canonical(&file)),
            location @ AssetLocation::Library(_) => Ok(location.identifier()),
        }
    }

    /// Keeps what was authored for messages. An identifier is asked for again by
    /// itself; only the first time it is what the author wrote.
    fn remember(&self, identifier: &str, authored: &str, refused: Option<Rc<AssetError>>) {
        let attempt = Attempt { authored: authored.to_owned(), refused };
        self.log.borrow_mut().attempts.entry(identifier.to_owned()).or_insert(attempt);
    }

    /// The bytes of a resolved layer or asset.
    pub fn bytes(&self, resolved: &str) -> io::Result<Vec<u8>> {
        if resolved.starts_with("lunco://") {
            let location = self.roots.resolve(resolved, None).map_err(io::Error::other)?;
            return self.roots.read(&location).map_err(io::Error::other);
        }
        if ar::is_package_relative_path(resolved) {
            return self.packages.open_asset(&ResolvedPath::new(resolved))?.read_all();
        }
        std::fs::read(resolved)
    }
}

impl Resolver for StageResolver {
    fn create_identifier(&self, asset_path: &str, anchor: Option<&ResolvedPath>) -> String {
        if asset_path.is_empty() || asset_path.starts_with(UNRESOLVABLE) {
            return asset_path.to_owned();
        }
        if let Some((package, inner)) = ar::is_package_relative_path(asset_path)
            .then(|| ar::split_package_relative_path_outer(asset_path))
            .flatten()
        {
            return ar::join_package_relative_path(&self.create_identifier(&package, anchor), &inner);
        }
        let anchor_text = anchor.map(|anchor| anchor.to_string_lossy().into_owned());
        // What a package references relatively lies in the package.
        if let Some(anchor_text) = &anchor_text
            && (ar::is_package_relative_path(anchor_text) || anchor_text.to_ascii_lowercase().ends_with(".usdz"))
            && !asset_path.contains("://")
            && !Path::new(asset_path).is_absolute()
        {
            let identifier = self.packages.create_identifier(asset_path, anchor);
            self.remember(&identifier, asset_path, None);
            return identifier;
        }
        let (identifier, refused) = match self.identify(asset_path, anchor_text.as_deref()) {
            Ok(identifier) => (identifier, None),
            Err(error) => (format!("{UNRESOLVABLE}{asset_path}"), Some(Rc::new(error))),
        };
        self.remember(&identifier, asset_path, refused);
        identifier
    }

    fn resolve(&self, asset_path: &str) -> Option<ResolvedPath> {
        if asset_path.is_empty() || asset_path.starts_with(UNRESOLVABLE) {
            return None;
        }
        if ar::is_package_relative_path(asset_path) {
            return self.packages.resolve(asset_path);
        }
        let identifier = self.identify(asset_path, None).ok()?;
        let exists = identifier.starts_with("lunco://") || Path::new(&identifier).is_file();
        exists.then(|| ResolvedPath::new(identifier))
    }

    fn resolve_for_new_asset(&self, _asset_path: &str) -> Option<ResolvedPath> {
        None
    }

    fn open_asset(&self, resolved_path: &ResolvedPath) -> io::Result<Box<dyn Asset>> {
        let resolved = resolved_path.to_string_lossy();
        let bytes = self.bytes(&resolved)?;
        if is_layer(&resolved)
            && let Err(fault) = check_bytes(&bytes)
        {
            let message = fault.message.clone();
            self.log.borrow_mut().faults.insert(resolved.into_owned(), fault);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Box::new(io::Cursor::new(bytes)))
    }
}

/// True for files that may hold usda text.
pub(crate) fn is_layer(resolved: &str) -> bool {
    let name = resolved.trim_end_matches(']').to_ascii_lowercase();
    name.ends_with(".usda") || name.ends_with(".usd")
}

/// One spelling for one file; a missing file keeps the spelling it has.
fn canonical(file: &Path) -> String {
    file.canonicalize().unwrap_or_else(|_| file.to_path_buf()).to_string_lossy().into_owned()
}

/// Folds `.` and `..` of a library address; `None` when it leads out.
fn fold_dots(address: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in address.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_layer_references_its_neighbours_in_the_library() {
        let resolver = StageResolver::new(AssetRoots::default());
        let anchor = ResolvedPath::new("lunco://scenes/base/lunar_surface.usda");
        let id = resolver.create_identifier("../lighting/sun.usda", Some(&anchor));
        assert_eq!(id, "lunco://scenes/lighting/sun.usda");
        assert!(resolver.resolve(&id).is_some());
        let out = resolver.create_identifier("../../../etc/x.usda", Some(&anchor));
        assert!(resolver.resolve(&out).is_none());
    }

    #[test]
    fn identifiers_are_stable_when_asked_for_again() {
        let resolver = StageResolver::new(AssetRoots::default());
        let once = resolver.create_identifier("lunco://lighting/../lighting/sun.usda", None);
        assert_eq!(once, "lunco://lighting/sun.usda");
        assert_eq!(resolver.create_identifier(&once, Some(&ResolvedPath::new("/a/b.usda"))), once);
    }
}
