//! The physics engine at the precision chosen by cargo features, and the way
//! between its numbers and ours. Nothing of it leaves this crate.

#[cfg(not(any(feature = "f32", feature = "f64")))]
compile_error!("terrane-physics needs one of its features f32 and f64");

#[cfg(not(feature = "f64"))]
pub(crate) use rapier3d as rapier;
#[cfg(feature = "f64")]
pub(crate) use rapier3d_f64 as rapier;

use glam::{DQuat, DVec3};
pub(crate) use rapier::math::{Pose, Real, Rotation, Vector};

/// A vector of the engine, rounded to its precision.
pub(crate) fn to_engine(v: DVec3) -> Vector {
    Vector::new(v.x as Real, v.y as Real, v.z as Real)
}

/// A vector of ours.
pub(crate) fn from_engine(v: Vector) -> DVec3 {
    let [x, y, z] = v.to_array().map(f64_of);
    DVec3::new(x, y, z)
}

/// A turn of the engine.
pub(crate) fn turn_to_engine(q: DQuat) -> Rotation {
    Rotation::from_xyzw(q.x as Real, q.y as Real, q.z as Real, q.w as Real)
}

/// A turn of ours, of unit length.
pub(crate) fn turn_from_engine(q: &Rotation) -> DQuat {
    DQuat::from_xyzw(f64_of(q.x), f64_of(q.y), f64_of(q.z), f64_of(q.w)).normalize()
}

/// A number of ours, whatever the engine's precision.
pub(crate) fn f64_of(value: Real) -> f64 {
    #[cfg(not(feature = "f64"))]
    return f64::from(value);
    #[cfg(feature = "f64")]
    value
}
