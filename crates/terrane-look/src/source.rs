//! Shader files: read, bounded, and split from their engine imports.

use std::cell::RefCell;
use terrane_assets::AssetRoots;
use terrane_core::{Diagnostic, Place};
use wesl::syntax::{ModulePath, PathOrigin};
use wesl::{ResolveError, Resolver};

/// Parsers recurse, so depth is bounded before they see a file.
const MAX_DEPTH: usize = 64;
/// Time doubles with each template type inside another.
const MAX_TEMPLATES: usize = 8;
/// Signs (operators, dots, commas) before the next semicolon or brace.
const MAX_SIGNS: usize = 2000;
const MAX_ELSES: usize = 256;
/// Modules that one source may pull in.
const MAX_MODULES: usize = 64;
/// wesl is more than linear in a file's size.
const MAX_BYTES: usize = 512 << 10;

/// Reads a file and refuses one that could hang or overflow a parser.
pub(crate) fn read_source(
    roots: &AssetRoots,
    authored: &str,
    anchor: Option<&str>,
) -> Result<(String, String), Diagnostic> {
    let location = roots.resolve(authored, anchor).map_err(|error| error.diagnostic())?;
    let identifier = location.identifier();
    let place = || Place::file(identifier.clone());
    let bytes = roots.read(&location).map_err(|error| {
        Diagnostic::error("shader-missing", "shader not found")
            .with_place(place())
            .with_detail(format!("`{authored}` can't be read: {}", reason(&error)))
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Diagnostic::error("shader-not-text", "shader is not UTF-8 text").with_place(place()))?;
    if text.len() > MAX_BYTES {
        return Err(Diagnostic::error("shader-too-large", "shader is too large")
            .with_place(place())
            .with_detail(format!("{} bytes; at most {MAX_BYTES} are compiled", text.len())));
    }
    if let Some((line, what)) = too_deep(&text) {
        return Err(Diagnostic::error("shader-too-deep", "shader nests too deeply")
            .with_place(place().at(line, None))
            .with_detail(what));
    }
    Ok((identifier, text))
}

/// Why a file can't be read, without its path, which the place says.
fn reason(error: &terrane_assets::AssetError) -> String {
    match error {
        terrane_assets::AssetError::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// The line where nesting passes what the parsers' stacks hold, and of what
/// kind: brackets, template types, one long expression, or a chain of `else`.
fn too_deep(text: &str) -> Option<(u32, String)> {
    let (mut depth, mut templates, mut signs, mut elses) = (0_usize, 0_usize, 0_usize, 0_usize);
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("//").next().unwrap_or("");
        elses += code.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| *word == "else").count();
        let mut before = b' ';
        for byte in code.bytes() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b'<' if before.is_ascii_alphanumeric() => templates += 1,
                b'>' => templates = templates.saturating_sub(1),
                _ => {}
            }
            match byte {
                b';' | b'{' | b'}' => (signs, templates) = (0, 0),
                byte if byte.is_ascii_punctuation() && byte != b'_' => signs += 1,
                _ => {}
            }
            if byte == b';' && depth <= 1 {
                elses = 0;
            }
            before = byte;
            for (count, most, what) in [
                (depth, MAX_DEPTH, "brackets"),
                (templates, MAX_TEMPLATES, "template types"),
                (signs, MAX_SIGNS, "signs of one expression"),
                (elses, MAX_ELSES, "branches of one chain of else"),
            ] {
                if count > most {
                    return Some((number, format!("more than {most} {what}")));
                }
            }
        }
    }
    None
}

/// A source whose imports of engine modules are taken out (lines kept, so that
/// places stay true) and written as naga_oil wants them.
pub(crate) struct Split {
    pub(crate) text: String,
    pub(crate) engine_imports: Vec<String>,
}

/// Takes `import terrane::...;` statements out of a WESL source.
pub(crate) fn split_engine_imports(source: &str) -> Split {
    let mut text = String::with_capacity(source.len());
    let mut engine_imports = Vec::new();
    let mut rest = source;
    while let Some(start) = find_engine_import(rest) {
        let (before, statement) = rest.split_at(start);
        let end = statement.find(';').map_or(statement.len(), |end| end + 1);
        text.push_str(before);
        let (statement, after) = statement.split_at(end);
        let path = statement.trim_start_matches("import").trim_end_matches(';');
        engine_imports.push(path.split_whitespace().collect());
        text.extend(statement.chars().filter(|c| *c == '\n'));
        rest = after;
    }
    text.push_str(rest);
    Split { text, engine_imports }
}

fn find_engine_import(text: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if line.trim_start().strip_prefix("import").is_some_and(|rest| rest.trim_start().starts_with("terrane::")) {
            return Some(offset + indent);
        }
        offset += line.len();
    }
    None
}

/// Finds WESL modules: `lunco::noise` is `lunco://shaders/noise.wesl`,
/// `package::noise` lies beside the root source. Remembers what it read, for
/// messages and for the key of the program.
pub(crate) struct Modules<'a> {
    pub(crate) roots: &'a AssetRoots,
    pub(crate) root_identifier: String,
    pub(crate) root_path: ModulePath,
    pub(crate) root_text: String,
    pub(crate) read: RefCell<Vec<(ModulePath, String, String)>>,
    pub(crate) failure: RefCell<Option<Diagnostic>>,
}

impl Modules<'_> {
    fn find(&self, path: &ModulePath) -> Result<(String, String), Diagnostic> {
        let file = format!("{}.wesl", path.components.join("/"));
        match &path.origin {
            PathOrigin::Package(name) if name == "lunco" => {
                read_source(self.roots, &format!("lunco://shaders/{file}"), None)
            }
            PathOrigin::Absolute => read_source(self.roots, &file, Some(&self.root_identifier)),
            _ => Err(Diagnostic::error("shader-import", "shader import not found").with_detail(format!(
                "`{path}` is neither `lunco::...` (the library), `package::...` (beside this file) nor `terrane::...` (the engine)"
            ))),
        }
    }
}

impl Resolver for Modules<'_> {
    fn resolve_source<'b>(&'b self, path: &ModulePath) -> Result<std::borrow::Cow<'b, str>, ResolveError> {
        if *path == self.root_path {
            return Ok(self.root_text.as_str().into());
        }
        let found = match self.read.borrow().len() {
            0..MAX_MODULES => self.find(path),
            _ => Err(Diagnostic::error("shader-too-large", "shader imports too much")
                .with_detail(format!("more than {MAX_MODULES} modules"))),
        };
        match found {
            Ok((identifier, text)) => {
                self.read.borrow_mut().push((path.clone(), identifier, text.clone()));
                Ok(text.into())
            }
            Err(diagnostic) => {
                let message = diagnostic.detail.clone();
                self.failure.borrow_mut().get_or_insert(diagnostic);
                Err(ResolveError::ModuleNotFound(path.clone(), message))
            }
        }
    }

    fn display_name(&self, path: &ModulePath) -> Option<String> {
        if *path == self.root_path {
            return Some(self.root_identifier.clone());
        }
        self.read.borrow().iter().find(|(known, ..)| known == path).map(|(_, identifier, _)| identifier.clone())
    }
}

/// Names that naga_oil accepts in any module: no double underscore, no digit
/// at the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainMangler;

impl wesl::Mangler for PlainMangler {
    fn mangle(&self, path: &ModulePath, item: &str) -> String {
        let origin = match &path.origin {
            PathOrigin::Package(name) => name.as_str(),
            _ => "package",
        };
        let raw = format!("{origin}_{}_{item}_", path.components.join("_"));
        let mut name = String::with_capacity(raw.len());
        for c in raw.chars() {
            if c != '_' || !name.ends_with('_') {
                name.push(c);
            }
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_imports_leave_their_lines_behind() {
        let split = split_engine_imports(
            "// a\nimport terrane::view::{\n  view,\n  BLOCK_M };\nimport lunco::noise::hash;\nfn f() {}\n",
        );
        assert_eq!(split.engine_imports, ["terrane::view::{view,BLOCK_M}"]);
        assert_eq!(split.text, "// a\n\n\n\nimport lunco::noise::hash;\nfn f() {}\n");
    }

    #[test]
    fn depth_is_bounded_and_comments_do_not_count() {
        assert_eq!(too_deep(&format!("// {}\nfn f() {{}}", "(".repeat(500))), None);
        let line = |text: String| too_deep(&text).map(|(line, _)| line);
        assert_eq!(line(format!("\n{}", "(".repeat(500))), Some(2));
        assert_eq!(line(format!("let q = 1.0{};", "+1.0".repeat(50_000))), Some(1));
        assert_eq!(line(format!("let q: {}f32{};", "vec2<".repeat(20), ">".repeat(20))), Some(1));
        assert_eq!(line(format!("if a {{}} {}", "else if b {}".repeat(8000))), Some(1));
        assert_eq!(line("let q = vec4<f32>(1.0) + a < b;\n".repeat(3000)), None);
    }
}
