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

use std::cell::Cell;

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
    Ok(image::png(width, &draw(scene, 0, width * height)))
}

/// Red, green and blue of the pixels from `first` to before `end`.
#[job]
fn pixels(source: Source, first: u32, end: u32) -> Vec<u8> {
    if end - first <= PLAIN_PIXELS {
        // The root job has read the same input, and returned if that failed.
        let scene = source.scene().expect("the scene was read before");
        return draw(scene, first, end);
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
    /// The input `scene`.
    Input,
    /// See `flake`.
    Flake { depth: u32 },
}

impl Source {
    fn new(flake: Option<u32>) -> Result<Self, BadInput> {
        match flake {
            None => Ok(Self::Input),
            Some(depth) if depth <= FLAKE_MAX => Ok(Self::Flake { depth }),
            Some(depth) => {
                Err(BadInput(format!("a flake {depth} deep is too deep; at most {FLAKE_MAX} is allowed")))
            }
        }
    }

    /// The scene. That of the input is prepared on each host; a flake is made once in each sandbox.
    fn scene(self) -> Result<&'static Scene, BadInput> {
        thread_local! {
            static LAST: Cell<Option<(u32, &'static Scene)>> = const { Cell::new(None) };
        }
        let Self::Flake { depth } = self else { return given() };
        let known = LAST.get().filter(|(known, _)| *known == depth);
        let (_, scene) = known.unwrap_or_else(|| {
            let scene = sateen::per_sandbox(&depth, || flake::flake(depth));
            (depth, Box::leak(Box::new(scene)))
        });
        LAST.set(Some((depth, scene)));
        Ok(scene)
    }
}

/// The scene of the input.
#[prepare]
fn given() -> Result<Scene, BadInput> {
    parse::parse(&sateen::input_text("scene")?)
}
