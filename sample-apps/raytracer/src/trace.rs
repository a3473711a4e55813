//! Rays, followed from the eye to the lights (Whitted, "An improved illumination model for shaded
//! display", 1980).
//!
//! Only sums, products, quotients, roots and `libm`'s functions are used: their bits are the same in
//! every sandbox and natively.

use crate::scene::{Light, Material, Plane, Scene};
use crate::vector::Vector;

/// Hits nearer than this to a ray's origin are ignored.
const LEAST: f64 = 1e-6;

/// Rays that add less than this to a picture are not followed.
const WEIGHT_MIN: f64 = 1.0 / 1024.0;

/// A view, prepared for rays.
pub struct Camera<'scene> {
    scene: &'scene Scene,
    forward: Vector,
    /// Steps from pixel to pixel.
    right: Vector,
    down: Vector,
}

impl<'scene> Camera<'scene> {
    pub fn new(scene: &'scene Scene) -> Self {
        let view = &scene.view;
        let forward = (view.target - view.eye).unit();
        // y is up, unless the viewer looks along y.
        let up =
            if forward.y.abs() < 0.999 { Vector::new(0.0, 1.0, 0.0) } else { Vector::new(0.0, 0.0, 1.0) };
        let right = forward.cross(up).unit();
        let half = libm::tan(view.angle * (core::f64::consts::PI / 360.0));
        let pixel = 2.0 * half / f64::from(view.width);
        Self { scene, forward, right: right * pixel, down: forward.cross(right) * pixel }
    }

    /// The red, green and blue of a pixel, numbered row by row.
    pub fn pixel(&self, nth: u32) -> [u8; 3] {
        let view = &self.scene.view;
        let (column, row) = (f64::from(nth % view.width), f64::from(nth / view.width));
        let (middle_x, middle_y) = (f64::from(view.width) * 0.5, f64::from(view.height) * 0.5);
        let step = 1.0 / f64::from(view.antialias);
        let mut sum = Vector::ZERO;
        for y in 0..view.antialias {
            for x in 0..view.antialias {
                let across = column + (f64::from(x) + 0.5) * step - middle_x;
                let below = row + (f64::from(y) + 0.5) * step - middle_y;
                let direction = (self.forward + self.right * across + self.down * below).unit();
                sum = sum + color(self.scene, view.eye, direction, view.bounces, 1.0);
            }
        }
        let mean = sum * (step * step);
        // The brightness of screens is about the square of the pixel value.
        [mean.x, mean.y, mean.z].map(|part| (part.clamp(0.0, 1.0).sqrt() * 255.0 + 0.5) as u8)
    }
}

/// The first point at which a ray meets a thing.
struct Hit<'scene> {
    point: Vector,
    /// The normal, away from the thing, of length 1.
    normal: Vector,
    material: &'scene Material,
}

/// The colour seen from a point in a direction of length 1. `weight` is its share of the pixel.
fn color(scene: &Scene, from: Vector, direction: Vector, bounces: u32, weight: f64) -> Vector {
    let Some(Hit { point, normal, material }) = nearest(scene, from, direction) else {
        return scene.background;
    };
    let is_inside = direction.dot(normal) > 0.0;
    let facing = if is_inside { -normal } else { normal };
    let mut sum = Vector::ZERO;
    if material.diffuse > 0.0 || material.specular > 0.0 {
        let surface = material.color_at(point);
        sum = surface.times(scene.ambient) * material.diffuse;
        for light in &scene.lights {
            sum = sum + lit(scene, light, direction, point, facing, surface, material);
        }
    }
    if bounces == 0 {
        return sum;
    }
    let mut mirror = material.mirror;
    if material.glass > 0.0 {
        let index = if is_inside { material.index } else { 1.0 / material.index };
        let against = -direction.dot(facing);
        let bent = 1.0 - index * index * (1.0 - against * against);
        if bent > 0.0 {
            // Fresnel's equations: the mean of both polarisations.
            let (within, ahead) = (index * bent.sqrt(), index * against);
            let across = (ahead - bent.sqrt()) / (ahead + bent.sqrt());
            let along = (within - against) / (within + against);
            let reflected = (across * across + along * along) * 0.5;
            let passes = material.glass * (1.0 - reflected);
            mirror += material.glass * reflected;
            if weight * passes > WEIGHT_MIN {
                let refracted = (direction * index + facing * (index * against - bent.sqrt())).unit();
                sum = sum + color(scene, point, refracted, bounces - 1, weight * passes) * passes;
            }
        } else {
            mirror += material.glass;
        }
    }
    if weight * mirror > WEIGHT_MIN {
        let mirrored = direction.mirrored(facing);
        sum = sum + color(scene, point, mirrored, bounces - 1, weight * mirror) * mirror;
    }
    sum
}

/// The contribution of a light to the colour of a point.
fn lit(
    scene: &Scene,
    light: &Light,
    direction: Vector,
    point: Vector,
    normal: Vector,
    surface: Vector,
    material: &Material,
) -> Vector {
    let way = light.at - point;
    let distance = way.length();
    let toward = way * (1.0 / distance);
    let slant = toward.dot(normal);
    if slant <= 0.0 || distance < LEAST {
        return Vector::ZERO;
    }
    let light = light.color * unhidden(scene, point, toward, distance);
    let mut sum = surface.times(light) * (material.diffuse * slant);
    if material.specular > 0.0 {
        let shine = direction.mirrored(normal).dot(toward);
        if shine > 0.0 {
            sum = sum + light * (material.specular * libm::pow(shine, material.exponent));
        }
    }
    sum
}

/// The part of a light that is not blocked.
fn unhidden(scene: &Scene, from: Vector, direction: Vector, distance: f64) -> f64 {
    let mut part = 1.0;
    for plane in &scene.planes {
        if plane_distance(plane, from, direction).is_some_and(|at| at < distance) {
            part *= scene.materials[plane.material].glass;
        }
    }
    if part == 0.0 {
        return 0.0;
    }
    scene.boxes.visit(&scene.solids, from, direction, distance, |_, solid, farthest| {
        if solid.shape.distance(from, direction, LEAST).is_some_and(|at| at < distance) {
            part *= scene.materials[solid.material].glass;
        }
        // In full shadow, the rest need not be tested.
        if part == 0.0 { -1.0 } else { farthest }
    });
    part
}

fn nearest<'scene>(scene: &'scene Scene, from: Vector, direction: Vector) -> Option<Hit<'scene>> {
    let mut least = f64::INFINITY;
    let mut plane_hit = None;
    for plane in &scene.planes {
        if let Some(at) = plane_distance(plane, from, direction)
            && at < least
        {
            least = at;
            plane_hit = Some(plane);
        }
    }
    let mut solid_hit = None;
    scene.boxes.visit(&scene.solids, from, direction, least, |nth, solid, farthest| {
        match solid.shape.distance(from, direction, LEAST) {
            Some(at) if at < farthest => {
                solid_hit = Some(nth);
                least = at;
                at
            }
            _ => farthest,
        }
    });
    let point = from + direction * least;
    if let Some(nth) = solid_hit {
        let solid = &scene.solids[nth];
        let material = &scene.materials[solid.material];
        return Some(Hit { point, normal: solid.shape.normal(point), material });
    }
    plane_hit.map(|plane| Hit { point, normal: plane.normal, material: &scene.materials[plane.material] })
}

#[inline(always)]
fn plane_distance(plane: &Plane, from: Vector, direction: Vector) -> Option<f64> {
    let slant = direction.dot(plane.normal);
    let at = (plane.through - from).dot(plane.normal) / slant;
    (at > LEAST && at < f64::INFINITY).then_some(at)
}
