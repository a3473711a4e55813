//! The contents of a scene.

use crate::boxes::Boxes;
use crate::vector::Vector;

/// A picture's size, its viewer, its lights and its things.
#[derive(Debug, Clone)]
pub struct Scene {
    pub view: View,
    /// The colour where there is nothing.
    pub background: Vector,
    /// Light from everywhere.
    pub ambient: Vector,
    pub lights: Vec<Light>,
    pub materials: Vec<Material>,
    pub planes: Vec<Plane>,
    /// Solids, in the order of `boxes`.
    pub solids: Vec<Solid>,
    pub boxes: Boxes,
}

/// The viewpoint and the resolution of the picture.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Each pixel is the mean of this number of rays, squared.
    pub antialias: u32,
    /// Maximum number of times that a ray is mirrored or refracted.
    pub bounces: u32,
    pub eye: Vector,
    /// The point in the middle of the picture.
    pub target: Vector,
    /// The angle between the left and the right edge, in degrees.
    pub angle: f64,
}

/// A point that emits light.
#[derive(Debug, Clone, PartialEq)]
pub struct Light {
    pub at: Vector,
    pub color: Vector,
}

/// How a surface looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    pub color: Vector,
    /// A second colour, in cubes with the given edge length.
    pub checker: Option<(Vector, f64)>,
    /// The part of the light that is scattered, 0 to 1.
    pub diffuse: f64,
    /// The brightness of highlights.
    pub specular: f64,
    /// The exponent of highlights: the higher, the smaller they are.
    pub exponent: f64,
    /// The part of the light that is mirrored, 0 to 1.
    pub mirror: f64,
    /// The part of the light that passes, 0 to 1.
    pub glass: f64,
    /// The index of refraction.
    pub index: f64,
}

impl Material {
    pub const DULL: Self = Self {
        color: Vector::new(1.0, 1.0, 1.0),
        checker: None,
        diffuse: 1.0,
        specular: 0.0,
        exponent: 1.0,
        mirror: 0.0,
        glass: 0.0,
        index: 1.0,
    };

    /// The colour of the surface at a point.
    pub fn color_at(&self, point: Vector) -> Vector {
        let Some((other, edge)) = self.checker else { return self.color };
        // A surface between two cubes belongs to one of them, however the point is rounded.
        let cube = |coordinate: f64| ((coordinate + 1e-6) / edge).floor();
        let parity = (cube(point.x) + cube(point.y) + cube(point.z)) * 0.5;
        if parity == parity.floor() { self.color } else { other }
    }
}

/// An infinite plane.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    pub through: Vector,
    /// Of length 1.
    pub normal: Vector,
    /// Its place in the scene's materials.
    pub material: usize,
}

/// A thing with an extent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solid {
    pub shape: Shape,
    /// Its place in the scene's materials.
    pub material: usize,
}

/// The form of a thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Sphere {
        center: Vector,
        radius: f64,
    },
    /// A corner, the vectors to the other two, and the normal of length 1.
    Triangle {
        corner: Vector,
        first: Vector,
        second: Vector,
        normal: Vector,
    },
}

impl Shape {
    /// The triangle with these corners, unless they are on one line.
    pub fn triangle(corners: [Vector; 3]) -> Option<Self> {
        let [corner, second, third] = corners;
        let (first, second) = (second - corner, third - corner);
        let across = first.cross(second);
        (across.length() > 0.0).then(|| Self::Triangle { corner, first, second, normal: across.unit() })
    }

    /// The least and the greatest coordinates.
    pub fn extent(&self) -> (Vector, Vector) {
        match *self {
            Self::Sphere { center, radius } => {
                let reach = Vector::new(radius, radius, radius);
                (center - reach, center + reach)
            }
            Self::Triangle { corner, first, second, .. } => {
                let (b, c) = (corner + first, corner + second);
                (corner.min(b).min(c), corner.max(b).max(c))
            }
        }
    }

    /// The distance from `from` along `direction`, of length 1, to the surface, beyond `least`.
    #[inline(always)]
    pub fn distance(&self, from: Vector, direction: Vector, least: f64) -> Option<f64> {
        match *self {
            Self::Sphere { center, radius } => {
                let way = center - from;
                let along = way.dot(direction);
                let inside = radius * radius - (way - direction * along).dot(way - direction * along);
                if inside < 0.0 {
                    return None;
                }
                let half = inside.sqrt();
                let (near, far) = (along - half, along + half);
                if near > least {
                    Some(near)
                } else if far > least {
                    Some(far)
                } else {
                    None
                }
            }
            // Möller and Trumbore (1997).
            Self::Triangle { corner, first, second, .. } => {
                let across = direction.cross(second);
                let determinant = first.dot(across);
                if determinant == 0.0 {
                    return None;
                }
                let inverse = 1.0 / determinant;
                let way = from - corner;
                let u = way.dot(across) * inverse;
                let turned = way.cross(first);
                let v = direction.dot(turned) * inverse;
                let distance = second.dot(turned) * inverse;
                (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && distance > least).then_some(distance)
            }
        }
    }

    /// The normal of the surface at `point`.
    pub fn normal(&self, point: Vector) -> Vector {
        match *self {
            Self::Sphere { center, radius } => (point - center) * (1.0 / radius),
            Self::Triangle { normal, .. } => normal,
        }
    }
}
