//! From a source file to a [`Program`].

use crate::compose::{ComposeError, compose, engine};
use crate::places::{line_column, map_back, tokens};
use crate::reflect::{Param, Reflection, TextureSlot, reflect};
use crate::source::{Modules, PlainMangler, read_source, split_engine_imports};
use std::cell::RefCell;
use terrane_assets::AssetRoots;
use terrane_core::look::{ShaderLanguage, ShaderSource};
use terrane_core::{ContentKey, Diagnostic, KeyBuilder, Place};
use wesl::syntax::{ModulePath, PathOrigin};
use wesl::{CompileOptions, SourceMap};

/// A compiled material: ready for a pipeline, open about what it declares.
#[derive(Debug, Clone)]
pub struct Program {
    /// The source's identifier, for messages.
    pub source: String,
    /// The vertex stage: the engine's static path. Entry point `vertex`.
    pub vertex: naga::Module,
    /// The fragment stage for ground without holes. Entry point `fragment`.
    pub fragment: naga::Module,
    /// The same for ground with holes, which it discards.
    pub fragment_holes: naga::Module,
    /// Members of `struct Material`, in order.
    pub params: Vec<Param>,
    /// Binding and size in bytes of the Material uniform.
    pub uniform: Option<(u32, u32)>,
    /// Textures of group 2, in order of binding.
    pub textures: Vec<TextureSlot>,
    /// Bindings of the samplers of group 2.
    pub samplers: Vec<u32>,
    /// Key of every source that took part.
    pub key: ContentKey,
}

/// Shader compilers recurse; this stack is deep enough for what
/// [`read_source`] lets through.
const STACK_BYTES: usize = 64 << 20;

/// Compiles a material source with everything it imports. A compiler that
/// panics is an error like any other.
pub fn compile(source: &ShaderSource, roots: &AssetRoots) -> Result<Program, Box<Diagnostic>> {
    let broke = |why: &str| {
        Diagnostic::error("shader-compiler", "the shader compiler broke")
            .with_place(Place::file(source.asset.authored.clone()))
            .with_detail(why.to_owned())
    };
    std::thread::scope(|scope| {
        let work =
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || compile_here(source, roots));
        match work.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(broke("it panicked; simplify the source until it compiles")),
            Err(error) => Err(broke(&error.to_string())),
        }
    })
    .map_err(Box::new)
}

fn compile_here(source: &ShaderSource, roots: &AssetRoots) -> Result<Program, Diagnostic> {
    let anchor = (!source.asset.anchor.is_empty()).then_some(source.asset.anchor.as_str());
    let at_prim = |mut diagnostic: Diagnostic| {
        diagnostic.place.prim.get_or_insert(source.path.clone());
        diagnostic
    };
    let (identifier, text) = read_source(roots, &source.asset.authored, anchor).map_err(at_prim)?;
    let translated = match source.language {
        ShaderLanguage::Wesl => translate(roots, &identifier, &text)?,
        ShaderLanguage::Wgsl => {
            Translated { wgsl: text.clone(), engine_imports: String::new(), modules: vec![], map: None }
        }
    };
    let mut composer = engine(roots)?;
    let composed = format!("{}\n{}", translated.engine_imports, translated.wgsl);
    let place = |error: &ComposeError| translated.place(&identifier, &text, error.token);
    let mut fragment = |flags: &[&str]| {
        compose(&mut composer, &composed, &identifier, flags).map_err(|error| {
            Diagnostic::error("shader-invalid", "shader does not compile")
                .with_place(place(&error))
                .with_detail(error.message)
        })
    };
    let (fragment, fragment_holes) = (fragment(&[])?, fragment(&["HOLES"])?);
    if !fragment.entry_points.iter().any(|entry| entry.name == "fragment" && entry.stage == naga::ShaderStage::Fragment)
    {
        return Err(Diagnostic::error("shader-no-entry", "shader has no fragment entry")
            .with_place(Place::file(identifier))
            .with_detail("a material needs `@fragment fn fragment(in: TileVaryings) -> FragmentOutput`"));
    }
    if let Some(why) = wrong_outputs(&fragment) {
        return Err(Diagnostic::error("shader-outputs", "fragment entry returns the wrong outputs")
            .with_place(Place::file(identifier))
            .with_detail(why)
            .with_help("return terrane::frame's FragmentOutput, made by frame_output"));
    }
    let Reflection { params, uniform, textures, samplers } = reflect(&fragment, &text).map_err(|why| {
        Diagnostic::error("shader-interface", "shader's Material can't be bound")
            .with_place(Place::file(identifier.clone()))
            .with_detail(why)
    })?;

    let (vertex_file, vertex_text) = read_source(roots, "lunco://shaders/engine/tile_static.wgsl", None)?;
    let vertex = compose(&mut composer, &vertex_text, &vertex_file, &[]).map_err(|error| {
        Diagnostic::error("shader-engine", "engine vertex stage is broken").with_detail(error.message)
    })?;
    let mut key =
        KeyBuilder::new("program", 1).bytes("source", text.as_bytes()).bytes("vertex", vertex_text.as_bytes());
    for (_, name, text) in &translated.modules {
        key = key.bytes(name, text.as_bytes());
    }
    let key = key.finish();
    Ok(Program { source: identifier, vertex, fragment, fragment_holes, params, uniform, textures, samplers, key })
}

/// Says what the fragment entry leaves out of the four outputs: what it does
/// not write would be published as it lay in memory.
fn wrong_outputs(module: &naga::Module) -> Option<String> {
    use naga::{Binding, ScalarKind, TypeInner, VectorSize};
    let entry = module.entry_points.iter().find(|entry| entry.name == "fragment")?;
    let Some(result) = &entry.function.result else { return Some("it returns nothing".into()) };
    let outputs: Vec<(u32, &TypeInner)> = match &module.types[result.ty].inner {
        TypeInner::Struct { members, .. } => {
            let located = members.iter().filter_map(|member| match member.binding {
                Some(Binding::Location { location, .. }) => Some((location, &module.types[member.ty].inner)),
                _ => None,
            });
            located.collect()
        }
        other => vec![(0, other)],
    };
    let four = |inner: &TypeInner| matches!(inner, TypeInner::Vector { size: VectorSize::Quad, scalar } if scalar.kind == ScalarKind::Float);
    let one =
        |kind: ScalarKind| move |inner: &TypeInner| matches!(inner, TypeInner::Scalar(scalar) if scalar.kind == kind);
    type IsRight<'a> = &'a dyn Fn(&TypeInner) -> bool;
    let checks: [(&str, IsRight<'_>); 4] = [
        ("location 0: radiance, vec4<f32>", &four),
        ("location 1: depth, f32", &one(ScalarKind::Float)),
        ("location 2: normal, vec4<f32>", &four),
        ("location 3: label, u32", &one(ScalarKind::Uint)),
    ];
    let missing = (0..)
        .zip(checks)
        .find(|(location, (_, is_right))| !outputs.iter().any(|(found, inner)| found == location && is_right(inner)));
    missing.map(|(_, (what, _))| format!("it has no {what}"))
}

/// WGSL and what is needed to find places in it again.
struct Translated {
    wgsl: String,
    engine_imports: String,
    modules: Vec<(ModulePath, String, String)>,
    map: Option<wesl::BasicSourceMap>,
}

fn root_path(identifier: &str) -> ModulePath {
    let name = identifier.rsplit(['/', '\\']).next().unwrap_or(identifier);
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("material");
    ModulePath::new(PathOrigin::Absolute, vec![stem.to_owned()])
}

fn translate(roots: &AssetRoots, identifier: &str, text: &str) -> Result<Translated, Diagnostic> {
    let split = split_engine_imports(text);
    let root = root_path(identifier);
    let modules = Modules {
        roots,
        root_identifier: identifier.to_owned(),
        root_path: root.clone(),
        root_text: split.text,
        read: RefCell::default(),
        failure: RefCell::default(),
    };
    // wesl does not know the engine's names; naga validates the whole.
    let options = CompileOptions { lower: true, validate: false, ..CompileOptions::default() };
    let result = wesl::compile_sourcemap(&root, &modules, &PlainMangler, &options);
    let result = result.map_err(|error| {
        let missing = modules.failure.borrow_mut().take();
        missing.unwrap_or_else(|| explain(&error, identifier, &modules))
    })?;
    let engine_imports = split.engine_imports.iter().map(|path| format!("#import {path} ")).collect::<Vec<_>>();
    Ok(Translated {
        wgsl: result.to_string(),
        // naga_oil reads one import a line.
        engine_imports: engine_imports.join("\n"),
        modules: modules.read.into_inner(),
        map: result.sourcemap,
    })
}

/// The innermost message of a wesl error, with the best place known.
fn explain(error: &wesl::Error, identifier: &str, modules: &Modules<'_>) -> Diagnostic {
    let text = modules.root_text.as_str();
    let mut place = Place::file(identifier.to_owned());
    let mut inner = error;
    while let wesl::Error::Error(diagnostic) = inner {
        let detail = &diagnostic.detail;
        let read = modules.read.borrow();
        let module = read.iter().find(|(path, ..)| Some(path) == detail.module_path.as_ref());
        let (file, source) = module.map_or((identifier, text), |(_, file, source)| (file.as_str(), source.as_str()));
        if let Some(span) = &detail.span {
            let (line, column) = line_column(source, span.start);
            place = Place::file(file).at(line, Some(column));
        } else if module.is_some() && place.line.is_none() {
            place = Place::file(file);
        }
        inner = &diagnostic.error;
    }
    if let (wesl::Error::ParseError(error), None) = (inner, place.line) {
        let (line, column) = line_column(text, error.span.start);
        place = Place::file(identifier).at(line, Some(column));
    }
    let message = match inner {
        wesl::Error::ParseError(error) => error.error.to_string(),
        other => other.to_string(),
    };
    Diagnostic::error("shader-invalid", "shader does not compile").with_place(place).with_detail(message)
}

impl Translated {
    /// The author's place of a token of the compiled text.
    fn place(&self, identifier: &str, text: &str, token: Option<usize>) -> Place {
        let place = Place::file(identifier.to_owned());
        let Some(offset) = token.and_then(|token| Some(tokens(&self.wgsl).get(token)?.start)) else { return place };
        let Some(map) = &self.map else {
            let (line, column) = line_column(text, offset);
            return place.at(line, Some(column));
        };
        let find = |name: &str| -> Option<(&str, String)> {
            match map.get_decl(name) {
                Some((path, item)) => {
                    let module = self.modules.iter().find(|(known, ..)| known == path);
                    Some((module.map_or(text, |(.., source)| source.as_str()), item.to_owned()))
                }
                None => Some((text, name.to_owned())),
            }
        };
        match map_back(&self.wgsl, offset, find) {
            Some((source, line, column)) => {
                let file = self.modules.iter().find(|(.., text)| std::ptr::eq(text.as_str(), source));
                Place::file(file.map_or(identifier, |(_, file, _)| file.as_str())).at(line, Some(column))
            }
            None => place,
        }
    }
}
