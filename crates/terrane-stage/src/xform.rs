//! World transforms from `xformOpOrder`, and the turn to metres and +Y up.
//!
//! USD writes matrices for row vectors; here they act on column vectors, so
//! the first op of `xformOpOrder` is the leftmost factor. Source:
//! <https://openusd.org/release/api/class_usd_geom_xformable.html>.

use crate::tree::{Node, property};
use crate::values::{Reading, matrix, number, rotation, text, texts, vector};
use glam::{DMat4, DVec3};
use openusd::sdf::{Path, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use terrane_core::{Diagnostic, Pose};

/// Types that carry no transform: ops authored on them have no effect.
const NOT_XFORMABLE: [&str; 9] =
    ["", "Scope", "Material", "Shader", "NodeGraph", "GeomSubset", "PhysicsScene", "RenderSettings", "RenderProduct"];

/// The stage's units and up axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axes {
    pub meters_per_unit: f64,
    pub z_up: bool,
}

impl Axes {
    /// Metres with +Y up from stage coordinates.
    pub fn to_metres_y_up(self) -> DMat4 {
        let turn = if self.z_up {
            // (x, y, z) becomes (x, z, -y).
            DMat4::from_cols(
                DVec3::X.extend(0.0),
                DVec3::NEG_Z.extend(0.0),
                DVec3::Y.extend(0.0),
                DVec3::ZERO.extend(1.0),
            )
        } else {
            DMat4::IDENTITY
        };
        DMat4::from_scale(DVec3::splat(self.meters_per_unit)) * turn
    }
}

/// World transforms and visibility, each computed once.
pub(crate) struct World<'a> {
    reading: &'a Reading<'a>,
    axes: Axes,
    nodes: HashMap<&'a Path, &'a Node>,
    matrices: RefCell<HashMap<Path, DMat4>>,
}

impl<'a> World<'a> {
    pub fn new(reading: &'a Reading<'a>, axes: Axes, nodes: &'a [Node]) -> Self {
        let nodes = nodes.iter().map(|node| (&node.path, node)).collect();
        Self { reading, axes, nodes, matrices: RefCell::default() }
    }

    pub fn axes(&self) -> Axes {
        self.axes
    }

    /// World pose (metres, +Y up) of a camera. A mirrored or singular transform
    /// is a message.
    pub fn camera_pose(&self, path: &Path) -> Option<Pose> {
        self.rigid(path, Pose::from_affine(self.site_from_prim(path)))
    }

    /// World pose (metres, +Y up) of a light. Mirrored, it still shines along
    /// the same direction, which is all that a pose of a light says.
    pub fn light_pose(&self, path: &Path) -> Option<Pose> {
        let matrix = self.site_from_prim(path);
        let mirrored = || Pose::from_affine(matrix * DMat4::from_scale(DVec3::new(-1.0, 1.0, 1.0)));
        self.rigid(path, Pose::from_affine(matrix).or_else(mirrored))
    }

    fn rigid(&self, path: &Path, pose: Option<Pose>) -> Option<Pose> {
        if pose.is_none() {
            let diagnostic = Diagnostic::error("transform-not-rigid", "transform gives no pose")
                .with_detail("it is mirrored, flattened to nothing, or not finite");
            self.reading.say(diagnostic, path.as_str());
        }
        pose
    }

    /// World (metres, +Y up) from a prim that keeps its own axes, as cameras
    /// and lights do.
    fn site_from_prim(&self, path: &Path) -> DMat4 {
        self.axes.to_metres_y_up() * self.stage_from_local(path)
    }

    /// World (metres, +Y up) from a prim's local space in metres with +Y up.
    pub fn site_from_local(&self, path: &Path) -> DMat4 {
        let to_site = self.axes.to_metres_y_up();
        to_site * self.stage_from_local(path) * to_site.inverse()
    }

    /// False when the prim or an ancestor is `invisible`.
    pub fn visible(&self, path: &Path) -> bool {
        !path.ancestors_below_root().any(|ancestor| {
            self.nodes.get(&ancestor).is_some_and(|node| node.has("visibility"))
                && self.reading.attribute(&ancestor, "visibility").as_ref().and_then(text).as_deref()
                    == Some("invisible")
        })
    }

    fn stage_from_local(&self, path: &Path) -> DMat4 {
        // From the root down, so that each ancestor is found or computed once.
        let mut chain: Vec<Path> = path.ancestors_below_root().collect();
        chain.sort_by_key(Path::prim_element_count);
        let mut world = DMat4::IDENTITY;
        for ancestor in chain {
            let known = self.matrices.borrow().get(&ancestor).copied();
            world = known.unwrap_or_else(|| {
                let (local, resets) = self.local(&ancestor);
                if resets { local } else { world * local }
            });
            self.matrices.borrow_mut().insert(ancestor, world);
        }
        world
    }

    /// Parent from local, and whether the parent's transform is dropped.
    fn local(&self, path: &Path) -> (DMat4, bool) {
        let ignored = (DMat4::IDENTITY, false);
        let Some(node) = self.nodes.get(path) else { return ignored };
        if !node.has("xformOpOrder") || NOT_XFORMABLE.contains(&node.type_name.as_str()) {
            return ignored;
        }
        let order = self.reading.attribute(path, "xformOpOrder").as_ref().and_then(texts).unwrap_or_default();
        // What stands before the last reset has no effect.
        let reset = order.iter().rposition(|op| op == "!resetXformStack!");
        let ops = &order[reset.map_or(0, |reset| reset + 1)..];
        let matrix = ops.iter().fold(DMat4::IDENTITY, |product, op| product * self.op(path, op));
        (matrix, reset.is_some())
    }

    fn op(&self, prim: &Path, name: &str) -> DMat4 {
        let (inverted, attribute) = match name.strip_prefix("!invert!") {
            Some(attribute) => (true, attribute),
            None => (false, name),
        };
        let Some(path) = property(prim, attribute) else { return DMat4::IDENTITY };
        let complain = |detail: String| {
            let diagnostic = Diagnostic::error("transform-op", "transform op can't be used").with_detail(detail);
            self.reading.say(diagnostic, path.as_str());
            DMat4::IDENTITY
        };
        let Some(value) = self.reading.value(&path) else {
            return complain("xformOpOrder names it, but it has no value".into());
        };
        let kind = attribute.strip_prefix("xformOp:").unwrap_or(attribute).split(':').next().unwrap_or_default();
        match op_matrix(kind, &value) {
            None => complain(format!("`{kind}` can't be read from this value")),
            Some(matrix) if inverted => {
                let inverse = matrix.inverse();
                if inverse.is_finite() { inverse } else { complain("it can't be inverted".into()) }
            }
            Some(matrix) => matrix,
        }
    }
}

/// The matrix of one op, acting on column vectors.
fn op_matrix(kind: &str, value: &Value) -> Option<DMat4> {
    let along = |axis: DVec3| Some(axis * exact(value)?);
    let about = |axis: DVec3| Some(DMat4::from_axis_angle(axis, exact(value)?.to_radians()));
    let scale = |axis: DVec3| Some(DMat4::from_scale(DVec3::ONE + axis * (exact(value)? - 1.0)));
    match kind {
        "translate" => Some(DMat4::from_translation(exact3(value)?)),
        "translateX" => along(DVec3::X).map(DMat4::from_translation),
        "translateY" => along(DVec3::Y).map(DMat4::from_translation),
        "translateZ" => along(DVec3::Z).map(DMat4::from_translation),
        "scale" => Some(DMat4::from_scale(exact3(value)?)),
        "scaleX" => scale(DVec3::X),
        "scaleY" => scale(DVec3::Y),
        "scaleZ" => scale(DVec3::Z),
        "rotateX" => about(DVec3::X),
        "rotateY" => about(DVec3::Y),
        "rotateZ" => about(DVec3::Z),
        "orient" => rotation(value).map(DMat4::from_quat),
        "transform" => matrix(value),
        order => euler(order.strip_prefix("rotate")?, exact3(value)?),
    }
}

/// Rotations about X, Y and Z in the order spelled: the first is applied first.
fn euler(order: &str, degrees: DVec3) -> Option<DMat4> {
    let mut letters: Vec<char> = order.chars().collect();
    letters.sort_unstable();
    if letters != ['X', 'Y', 'Z'] {
        return None;
    }
    order.chars().try_fold(DMat4::IDENTITY, |product, axis| {
        let angle = degrees.map(f64::to_radians);
        let turn = match axis {
            'X' => DMat4::from_rotation_x(angle.x),
            'Y' => DMat4::from_rotation_y(angle.y),
            'Z' => DMat4::from_rotation_z(angle.z),
            _ => return None,
        };
        Some(turn * product)
    })
}

/// A number in full precision, as geometry needs it.
fn exact(value: &Value) -> Option<f64> {
    match value {
        Value::Float(v) => Some(f64::from(*v)).filter(|v| v.is_finite()),
        other => number(other),
    }
}

fn exact3(value: &Value) -> Option<DVec3> {
    match value {
        Value::Vec3f(v) => Some(DVec3::from_array(<[f32; 3]>::from(*v).map(f64::from))).filter(|v| v.is_finite()),
        other => vector(other)?.try_into().ok().map(DVec3::from_array),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn euler_orders_apply_their_first_axis_first() {
        let quarter = DVec3::splat(90.0);
        // X first takes +Y to +Z, Y then takes +Z to +X, Z then takes +X to +Y.
        let xyz = euler("XYZ", quarter).unwrap().transform_vector3(DVec3::Y);
        assert!((xyz - DVec3::Y).length() < 1e-12, "{xyz}");
        // Z first takes +Y to -X, Y then takes -X to +Z, X then takes +Z to -Y.
        let zyx = euler("ZYX", quarter).unwrap().transform_vector3(DVec3::Y);
        assert!((zyx - DVec3::NEG_Y).length() < 1e-12, "{zyx}");
        assert!(euler("XXZ", quarter).is_none() && euler("XY", quarter).is_none());
    }

    #[test]
    fn a_z_up_centimetre_stage_turns_to_metres_with_y_up() {
        let axes = Axes { meters_per_unit: 0.01, z_up: true };
        let site = axes.to_metres_y_up().transform_point3(DVec3::new(100.0, 200.0, 300.0));
        assert!((site - DVec3::new(1.0, 3.0, -2.0)).length() < 1e-12);
    }
}
