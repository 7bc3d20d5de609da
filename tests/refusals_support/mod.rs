//! A small twin with its own rasters, and ways to run the program on it.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A TIFF of 32-bit floats, written by hand so that nothing of the program
/// under test takes part.
#[derive(Debug, Clone)]
pub struct Tiff {
    pub columns: u32,
    pub rows: u32,
    pub values: Vec<f32>,
    /// EPSG code of a projected or of a geographic CRS.
    pub crs: Option<Epsg>,
    /// GDAL's geotransform.
    pub geotransform: Option<[f64; 6]>,
    pub nodata: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
pub enum Epsg {
    Projected(u16),
    Geographic(u16),
}

const UTM_12_NORTH: u16 = 32612;

impl Tiff {
    /// A hilly, rough, north-up square kilometre or so in Arizona.
    pub fn hills(columns: u32, rows: u32, posting_m: f64) -> Self {
        let height = |c: u32, r: u32| {
            let (x, y) = (f64::from(c) * posting_m, f64::from(r) * posting_m);
            let rough = f64::from((c * 7919 + r * 104_729) % 97) / 97.0;
            (20.0 * (x / 40.0).sin() * (y / 55.0).cos() + 0.3 * rough) as f32
        };
        Self {
            columns,
            rows,
            values: (0..rows).flat_map(|r| (0..columns).map(move |c| height(c, r))).collect(),
            crs: Some(Epsg::Projected(UTM_12_NORTH)),
            geotransform: Some([500_000.0, posting_m, 0.0, 3_900_000.0, 0.0, -posting_m]),
            nodata: None,
        }
    }

    pub fn moved(mut self, east_m: f64) -> Self {
        if let Some(transform) = &mut self.geotransform {
            transform[0] += east_m;
        }
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let words = |values: &[u16]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let long = |value: u32| (4_u16, 1_u32, value.to_le_bytes().to_vec());
        let doubles = |values: &[f64]| {
            (12_u16, values.len() as u32, values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
        };
        let short = |value: u16| (3_u16, 1_u32, words(&[value]));
        let pixels: Vec<u8> = self.values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut tags: BTreeMap<u16, (u16, u32, Vec<u8>)> = BTreeMap::new();
        tags.insert(256, long(self.columns));
        tags.insert(257, long(self.rows));
        tags.insert(258, short(32));
        tags.insert(259, short(1));
        tags.insert(262, short(1));
        tags.insert(273, long(0));
        tags.insert(277, short(1));
        tags.insert(278, long(self.rows));
        tags.insert(279, long(pixels.len() as u32));
        tags.insert(339, short(3));
        if let Some(g) = self.geotransform {
            // ModelTransformation says everything, turned grids included.
            let matrix = [g[1], g[2], 0.0, g[0], g[4], g[5], 0.0, g[3], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
            tags.insert(34264, doubles(&matrix));
        }
        if let Some(crs) = self.crs {
            let (model, key, code) = match crs {
                Epsg::Projected(code) => (1, 3072, code),
                Epsg::Geographic(code) => (2, 2048, code),
            };
            let keys = [1, 1, 0, 3, 1024, 0, 1, model, 1025, 0, 1, 1, key, 0, 1, code];
            tags.insert(34735, (3, keys.len() as u32, words(&keys)));
        }
        if let Some(nodata) = self.nodata {
            let text = format!("{nodata}\0").into_bytes();
            tags.insert(42113, (2, text.len() as u32, text));
        }

        // Directory, values that do not fit in it, pixels.
        let mut behind = 8 + 2 + 12 * tags.len() + 4;
        let pixels_at =
            behind + tags.values().map(|(.., value)| value.len()).filter(|length| *length > 4).sum::<usize>();
        tags.insert(273, long(pixels_at as u32));
        let mut out = b"II*\0\x08\0\0\0".to_vec();
        out.extend((tags.len() as u16).to_le_bytes());
        let mut tail = Vec::new();
        for (tag, (kind, count, value)) in tags {
            out.extend(tag.to_le_bytes());
            out.extend(kind.to_le_bytes());
            out.extend(count.to_le_bytes());
            if value.len() <= 4 {
                out.extend(value.iter().copied().chain(std::iter::repeat(0)).take(4));
            } else {
                out.extend((behind as u32).to_le_bytes());
                behind += value.len();
                tail.extend(value);
            }
        }
        out.extend([0; 4]);
        out.extend(tail);
        out.extend(pixels);
        out
    }

    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.bytes()).unwrap();
    }
}

/// What a stage of the test twin says; a test changes what it is about.
#[derive(Debug, Clone)]
pub struct Stage {
    pub dem: String,
    pub shader: String,
    /// More lines of the Shader prim.
    pub inputs: String,
    /// Metadata of the World prim.
    pub world: String,
    pub terrain: bool,
    pub dem_layer: bool,
    pub binding: bool,
}

impl Default for Stage {
    fn default() -> Self {
        Self {
            dem: "twin://data/dem.tif".into(),
            shader: "lunco://shaders/terrain_layered.wesl".into(),
            inputs: String::new(),
            world: String::new(),
            terrain: true,
            dem_layer: true,
            binding: true,
        }
    }
}

impl Stage {
    pub fn text(&self) -> String {
        let Self { dem, shader, inputs, world, .. } = self;
        let mode = if self.terrain { "uniform token lunco:assetMode = \"layered\"" } else { "" };
        let layer = if self.dem_layer { "dem" } else { "shader" };
        let binding = if self.binding { "rel material:binding = </World/Looks/Ground>" } else { "" };
        format!(
            r#"#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Y"
)

def Xform "World" ({world})
{{
    def Xform "Terrain"
    {{
        {mode}
        {binding}
        def Scope "Dem"
        {{
            uniform token lunco:layer = "{layer}"
            asset lunco:layer:demSource = @{dem}@
        }}
    }}
    def Scope "Looks"
    {{
        def Material "Ground"
        {{
            token outputs:surface.connect = </World/Looks/Ground/Shader.outputs:surface>
            def Shader "Shader"
            {{
                uniform token info:implementationSource = "sourceAsset"
                uniform asset info:wesl:sourceAsset = @{shader}@
                {inputs}
                token outputs:surface
            }}
        }}
    }}
    def DistantLight "Sun"
    {{
        float inputs:intensity = 100000
        double3 xformOp:rotateXYZ = (-35, -135, 0)
        uniform token[] xformOpOrder = ["xformOp:rotateXYZ"]
    }}
    def Scope "Cameras"
    {{
        def Camera "Nav"
        {{
            float2 clippingRange = (0.05, 100000)
            double3 xformOp:translate = (0, 40, 60)
            float3 xformOp:rotateXYZ = (-20, 10, 0)
            uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ"]
        }}
        def Camera "Plan"
        {{
            token projection = "orthographic"
            float horizontalAperture = 4000
            float2 clippingRange = (1, 10000)
            double3 xformOp:translate = (0, 500, 0)
            float3 xformOp:rotateXYZ = (-90, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ"]
        }}
    }}
}}
"#
        )
    }
}

/// A folder that holds a twin `site`, and next to it what is not part of it.
#[derive(Debug)]
pub struct Twin {
    folder: tempfile::TempDir,
}

impl Twin {
    /// A twin that is in order.
    pub fn good() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let twin = Self { folder };
        std::fs::create_dir_all(twin.root().join("data")).unwrap();
        twin.put("twin.toml", "name = \"site\"\nstage = \"site.usda\"\n");
        twin.put("site.usda", &Stage::default().text());
        Tiff::hills(200, 150, 2.0).write(&twin.root().join("data/dem.tif"));
        twin
    }

    /// The folder around the twin.
    pub fn outside(&self) -> &Path {
        self.folder.path()
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("site")
    }

    pub fn stage(&self) -> PathBuf {
        self.root().join("site.usda")
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Every file and folder of `self.outside()` with its bytes, except whole
    /// archives, which are a cache and valid on their own.
    pub fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        listing(self.folder.path(), &mut found);
        found.retain(|path, _| !path.ends_with(".terrane") && path.extension().is_none_or(|e| e != "pyramid"));
        found
    }

    /// Runs the program in the folder around the twin.
    pub fn run(&self, args: &[&str]) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_terrane"))
            .current_dir(self.folder.path())
            .args(args)
            .env_remove("TERRANE_LIBRARY")
            .env_remove("TERRANE_CACHE")
            .env("XDG_RUNTIME_DIR", self.folder.path().parent().unwrap())
            .output()
            .unwrap();
        Run::new(output)
    }

    /// The render command that a test of refusals ends with.
    pub fn render(&self, more: &[&str]) -> Run {
        let stage = self.stage().display().to_string();
        let first = ["render", stage.as_str(), "--size", "48x36", "--samples", "1", "-o", "out"];
        self.run(&[&first, more].concat())
    }
}

fn listing(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let real = path.symlink_metadata().unwrap();
        if real.is_dir() {
            found.insert(path.clone(), vec![]);
            listing(&path, found);
        } else if real.is_file() {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        } else {
            found.insert(path, vec![]);
        }
    }
}

/// How the program ended and what it said.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    fn new(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert_eq!(self.code, Some(0), "{}\n{}", self.stdout, self.stderr);
        self
    }
}
