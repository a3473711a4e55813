//! The sphereflake of Haines' "A proposal for standard graphics environments" (1987): a sphere with
//! nine smaller ones on it, each with nine on it, and so on, on a checkered ground.

use crate::boxes::Boxes;
use crate::scene::{Light, Material, Plane, Scene, Shape, Solid, View};
use crate::vector::Vector;

/// The ratio of a sphere's radius to its parent's.
const SHRINKING: f64 = 1.0 / 3.0;

const HALF_ROOT_3: f64 = 0.866_025_403_784_438_6;

/// A flake whose spheres are `depth` deep: depth 0 is one sphere.
pub fn flake(depth: u32) -> Scene {
    let ground = Material {
        color: Vector::new(0.9, 0.85, 0.75),
        checker: Some((Vector::new(0.25, 0.3, 0.35), 0.8)),
        ..Material::DULL
    };
    let ball = Material {
        color: Vector::new(0.85, 0.6, 0.3),
        diffuse: 0.6,
        specular: 0.6,
        exponent: 40.0,
        mirror: 0.35,
        ..Material::DULL
    };
    let up = Vector::new(0.0, 1.0, 0.0);
    let mut solids = Vec::new();
    add(&mut solids, Vector::new(0.0, 1.0, 0.0), 1.0, up, depth);
    let boxes = Boxes::around(&mut solids);
    Scene {
        view: View {
            width: 480,
            height: 320,
            antialias: 2,
            bounces: 6,
            eye: Vector::new(2.4, 2.9, 4.6),
            target: Vector::new(0.0, 1.05, 0.0),
            angle: 50.0,
        },
        background: Vector::new(0.35, 0.5, 0.75),
        ambient: Vector::new(0.12, 0.12, 0.14),
        lights: vec![
            Light { at: Vector::new(5.0, 8.0, 4.0), color: Vector::new(0.8, 0.78, 0.72) },
            Light { at: Vector::new(-6.0, 5.0, 3.0), color: Vector::new(0.3, 0.32, 0.4) },
        ],
        materials: vec![ground, ball],
        planes: vec![Plane { through: Vector::new(0.0, -0.4, 0.0), normal: up, material: 0 }],
        solids,
        boxes,
    }
}

/// Adds a sphere that grows in the direction `up`, and those on it.
fn add(solids: &mut Vec<Solid>, center: Vector, radius: f64, up: Vector, depth: u32) {
    solids.push(Solid { shape: Shape::Sphere { center, radius }, material: 1 });
    if depth == 0 {
        return;
    }
    // Two perpendicular directions, spanned by the axis that `up` is farthest from.
    let axis = if up.x.abs() < 0.6 {
        Vector::new(1.0, 0.0, 0.0)
    } else if up.y.abs() < 0.6 {
        Vector::new(0.0, 1.0, 0.0)
    } else {
        Vector::new(0.0, 0.0, 1.0)
    };
    let right = up.cross(axis).unit();
    let ahead = up.cross(right);
    // Six around the waist, three near the top, turned by half a step.
    let waist = [
        (1.0, 0.0),
        (0.5, HALF_ROOT_3),
        (-0.5, HALF_ROOT_3),
        (-1.0, 0.0),
        (-0.5, -HALF_ROOT_3),
        (0.5, -HALF_ROOT_3),
    ];
    let top = [(HALF_ROOT_3, 0.5), (-HALF_ROOT_3, 0.5), (0.0, -1.0)];
    let around = waist.map(|(x, y)| right * x + ahead * y);
    let above =
        top.map(|(x, y)| (right * x + ahead * y) * 0.577_350_269_189_625_8 + up * 0.816_496_580_927_726);
    for direction in around.into_iter().chain(above) {
        let direction = direction.unit();
        let distance = radius * (1.0 + SHRINKING);
        add(solids, center + direction * distance, radius * SHRINKING, direction, depth - 1);
    }
}
