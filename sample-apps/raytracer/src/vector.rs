//! Points, directions and colours: three numbers each.

use std::ops::{Add, Mul, Neg, Sub};

/// Three numbers: x, y, z, or red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vector {
    pub x: f64,
    pub y: f64,
    pub z: f64,
}

/// The lesser of two numbers. `f64::min`, which also handles NaNs, is a call in WebAssembly;
/// this is one instruction.
#[inline(always)]
pub fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The greater of two numbers.
#[inline(always)]
pub fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

impl Vector {
    pub const ZERO: Self = Self::new(0.0, 0.0, 0.0);

    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    #[inline(always)]
    pub fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    pub fn cross(self, other: Self) -> Self {
        Self {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The same direction with length 1. It must not be zero.
    #[inline(always)]
    pub fn unit(self) -> Self {
        self * (1.0 / self.length())
    }

    /// Each number times that of `other`.
    #[inline(always)]
    pub fn times(self, other: Self) -> Self {
        Self { x: self.x * other.x, y: self.y * other.y, z: self.z * other.z }
    }

    /// The lesser of each pair of numbers.
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        Self { x: lesser(self.x, other.x), y: lesser(self.y, other.y), z: lesser(self.z, other.z) }
    }

    /// The greater of each pair of numbers.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        Self { x: greater(self.x, other.x), y: greater(self.y, other.y), z: greater(self.z, other.z) }
    }

    /// Mirrors it at a surface with the normal `normal`, of length 1.
    #[inline(always)]
    pub fn mirrored(self, normal: Self) -> Self {
        self - normal * (2.0 * self.dot(normal))
    }
}

impl Add for Vector {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl Sub for Vector {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z }
    }
}

impl Mul<f64> for Vector {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f64) -> Self {
        Self { x: self.x * factor, y: self.y * factor, z: self.z * factor }
    }
}

impl Neg for Vector {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        self * -1.0
    }
}
