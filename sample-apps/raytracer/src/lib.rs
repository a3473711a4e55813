//! A ray tracer: a picture of spheres, planes and triangles with shadows, mirrors and glass.
//!
//! `parse` and `flake` make a `Scene`; `trace` follows the rays; `image` writes the file. A job is a
//! range of pixels, row by row. It spawns the second half and does the first itself, so the job that waits
//! longest is the largest part of the picture. Jobs do not contain the scene: each sandbox reads the same
//! input.

mod boxes;
mod flake;
mod image;
mod parse;
mod scene;
mod trace;
mod vector;

use std::cell::RefCell;
use std::rc::Rc;

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use scene::Scene;
use trace::Camera;

/// Pixels that are drawn without spawning: some dozen microseconds of work, thousands of times the cost of
/// a spawn.
const PLAIN_PIXELS: u32 = 16;

/// The deepest flake: 66,430 spheres.
const FLAKE_MAX: u32 = 5;

/// The picture of the input `scene`, or of a sphereflake with this number of levels, as a PNG file.
///
/// # Errors
/// When the input is missing or is not a scene; the message names the line. When the flake is too deep.
#[main]
pub fn main(flake: Option<u32>) -> Result<Vec<u8>, BadInput> {
    let source = Source::new(flake)?;
    let scene = source.scene()?;
    let (width, height) = (scene.view.width, scene.view.height);
    Ok(image::png(width, &pixels(source, 0, width * height)))
}

/// The same without spawns: the baseline of the spawning version.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(flake: Option<u32>) -> Result<Vec<u8>, BadInput> {
    let scene = Source::new(flake)?.scene()?;
    let (width, height) = (scene.view.width, scene.view.height);
    Ok(image::png(width, &draw(&scene, 0, width * height)))
}

/// Red, green and blue of the pixels from `first` to before `end`.
#[job]
fn pixels(source: Source, first: u32, end: u32) -> Vec<u8> {
    if end - first <= PLAIN_PIXELS {
        // The root job has read the same input, and returned if that failed.
        let scene = source.scene().expect("the scene was read before");
        return draw(&scene, first, end);
    }
    let middle = first.midpoint(end);
    let second = pixels::spawn(source, middle, end);
    let mut all = pixels(source, first, middle);
    all.extend(second.sync());
    all
}

fn draw(scene: &Scene, first: u32, end: u32) -> Vec<u8> {
    let camera = Camera::new(scene);
    (first..end).flat_map(|nth| camera.pixel(nth)).collect()
}

/// Where the scene comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    /// The input `scene`. The digest identifies its content, for the value kept in the sandbox.
    Input { digest: u64 },
    /// See `flake`.
    Flake { depth: u32 },
}

impl Source {
    fn new(flake: Option<u32>) -> Result<Self, BadInput> {
        match flake {
            None => Ok(Self::Input { digest: digest(&sateen::input("scene")?) }),
            Some(depth) if depth <= FLAKE_MAX => Ok(Self::Flake { depth }),
            Some(depth) => {
                Err(BadInput(format!("a flake {depth} deep is too deep; at most {FLAKE_MAX} is allowed")))
            }
        }
    }

    /// The scene: made once in each sandbox.
    fn scene(self) -> Result<Rc<Scene>, BadInput> {
        thread_local! {
            static LAST: RefCell<Option<(Source, Rc<Scene>)>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| match last {
            Some((source, scene)) if *source == self => Ok(Rc::clone(scene)),
            _ => {
                let scene = sateen::per_sandbox(&self, || match self {
                    Self::Input { .. } => parse::parse(&sateen::input_text("scene")?),
                    Self::Flake { depth } => Ok(flake::flake(depth)),
                });
                let scene = Rc::new(scene?);
                *last = Some((self, Rc::clone(&scene)));
                Ok(scene)
            }
        })
    }
}

/// FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
