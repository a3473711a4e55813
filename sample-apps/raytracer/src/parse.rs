//! The text that describes a scene; the app's README explains the lines.

use std::collections::BTreeMap;
use std::str::SplitAsciiWhitespace;

use sateen::BadInput;

use crate::boxes::Boxes;
use crate::scene::{Light, Material, Plane, Scene, Shape, Solid, View};
use crate::vector::Vector;

/// The largest coordinate.
const FAR: f64 = 1e6;
/// The largest side of a picture.
const SIDE_MAX: u32 = 8192;
/// Maximum pixels: their colours fit a run's output.
const PIXELS_MAX: u32 = 16 << 20;
const SOLIDS_MAX: usize = 1_000_000;

/// Reads a scene.
///
/// # Errors
/// When the text is not a scene; the message names the line and what was expected there.
pub fn parse(text: &str) -> Result<Scene, BadInput> {
    let mut reader = Reader {
        view: View {
            width: 320,
            height: 240,
            antialias: 2,
            bounces: 5,
            eye: Vector::ZERO,
            target: Vector::ZERO,
            angle: 0.0,
        },
        has_camera: false,
        last: 1,
        background: Vector::ZERO,
        ambient: Vector::new(0.1, 0.1, 0.1),
        lights: Vec::new(),
        names: BTreeMap::new(),
        materials: Vec::new(),
        planes: Vec::new(),
        solids: Vec::new(),
    };
    for (index, line) in text.lines().enumerate() {
        let said = line.split('#').next().unwrap_or_default();
        let mut line = Line { number: index + 1, words: said.split_ascii_whitespace() };
        reader.last = line.number;
        if let Some(word) = line.words.next() {
            reader.read(word, &mut line)?;
            line.finish()?;
        }
    }
    reader.finish()
}

struct Reader<'text> {
    view: View,
    has_camera: bool,
    /// The number of the last line.
    last: usize,
    background: Vector,
    ambient: Vector,
    lights: Vec<Light>,
    /// Each material's place.
    names: BTreeMap<&'text str, usize>,
    materials: Vec<Material>,
    planes: Vec<Plane>,
    solids: Vec<Solid>,
}

impl<'text> Reader<'text> {
    fn read(&mut self, word: &str, line: &mut Line<'text>) -> Result<(), BadInput> {
        match word {
            "size" => {
                self.view.width = line.whole("the width", 1, SIDE_MAX)?;
                self.view.height = line.whole("the height", 1, SIDE_MAX)?;
                if self.view.width * self.view.height > PIXELS_MAX {
                    return Err(line.error(&format!("a picture has at most {PIXELS_MAX} pixels")));
                }
            }
            "antialias" => self.view.antialias = line.whole("the rays along a pixel's side", 1, 16)?,
            "bounces" => self.view.bounces = line.whole("how often a ray may bounce", 0, 50)?,
            "camera" => self.read_camera(line)?,
            "background" => self.background = line.color("the background")?,
            "ambient" => self.ambient = line.color("the ambient light")?,
            "light" => {
                let (at, color) = (line.point("the light")?, line.color("the light")?);
                self.lights.push(Light { at, color });
            }
            "material" => self.read_material(line)?,
            "sphere" => {
                let material = self.material(line)?;
                let center = line.point("the centre")?;
                let radius = line.number("the radius", 1e-6, FAR)?;
                self.add(Shape::Sphere { center, radius }, material, line)?;
            }
            "plane" => {
                let material = self.material(line)?;
                let (through, normal) = (line.point("a point of the plane")?, line.point("the normal")?);
                if normal == Vector::ZERO {
                    return Err(line.error("the normal of a plane needs a length"));
                }
                self.planes.push(Plane { through, normal: normal.unit(), material });
            }
            "triangle" => {
                let material = self.material(line)?;
                let corners = [
                    line.point("the first corner")?,
                    line.point("the second corner")?,
                    line.point("the third corner")?,
                ];
                let Some(shape) = Shape::triangle(corners) else {
                    return Err(line.error("the corners of a triangle may not be on one line"));
                };
                self.add(shape, material, line)?;
            }
            _ => {
                return Err(line.error(&format!(
                    "`{word}` where one of size, antialias, bounces, camera, background, ambient, light, material, sphere, plane, triangle is expected"
                )));
            }
        }
        Ok(())
    }

    fn read_camera(&mut self, line: &mut Line) -> Result<(), BadInput> {
        self.view.eye = line.point("the eye")?;
        self.view.target = line.point("what it looks at")?;
        self.view.angle = line.number("the angle of view in degrees", 1.0, 170.0)?;
        if (self.view.target - self.view.eye).length() < 1e-6 {
            return Err(line.error("the camera looks at where it is"));
        }
        self.has_camera = true;
        Ok(())
    }

    fn read_material(&mut self, line: &mut Line<'text>) -> Result<(), BadInput> {
        let name = line.word("the name of a material")?;
        let mut material = Material::DULL;
        while let Some(property) = line.words.next() {
            match property {
                "color" => material.color = line.color("the material")?,
                "checker" => {
                    material.checker =
                        Some((line.color("the checkers")?, line.number("their size", 1e-3, FAR)?));
                }
                "diffuse" => material.diffuse = line.number("the scattered part", 0.0, 1.0)?,
                "specular" => {
                    material.specular = line.number("the brightness of highlights", 0.0, 10.0)?;
                    material.exponent = line.number("the exponent of highlights", 1.0, 10_000.0)?;
                }
                "mirror" => material.mirror = line.number("the mirrored part", 0.0, 1.0)?,
                "glass" => {
                    material.glass = line.number("the part that passes", 0.0, 1.0)?;
                    material.index = line.number("the index of refraction", 1.0, 10.0)?;
                }
                _ => {
                    return Err(line.error(&format!(
                        "`{property}` where one of color, checker, diffuse, specular, mirror, glass is expected"
                    )));
                }
            }
        }
        if self.names.insert(name, self.materials.len()).is_some() {
            return Err(line.error(&format!("a second material `{name}`")));
        }
        self.materials.push(material);
        Ok(())
    }

    fn material(&self, line: &mut Line<'text>) -> Result<usize, BadInput> {
        let name = line.word("the name of a material")?;
        (self.names.get(name).copied())
            .ok_or_else(|| line.error(&format!("the material `{name}` is not described above")))
    }

    fn add(&mut self, shape: Shape, material: usize, line: &Line) -> Result<(), BadInput> {
        if self.solids.len() == SOLIDS_MAX {
            return Err(line.error(&format!("a scene has at most {SOLIDS_MAX} spheres and triangles")));
        }
        self.solids.push(Solid { shape, material });
        Ok(())
    }

    fn finish(mut self) -> Result<Scene, BadInput> {
        if !self.has_camera {
            let what = "the file ends where `camera EYE TARGET ANGLE` is expected; no line says where it is";
            return Err(BadInput::at_line("scene", self.last, what));
        }
        let boxes = Boxes::around(&mut self.solids);
        Ok(Scene {
            view: self.view,
            background: self.background,
            ambient: self.ambient,
            lights: self.lights,
            materials: self.materials,
            planes: self.planes,
            solids: self.solids,
            boxes,
        })
    }
}

struct Line<'text> {
    /// The line's number in the file, from 1.
    number: usize,
    words: SplitAsciiWhitespace<'text>,
}

impl<'text> Line<'text> {
    fn word(&mut self, what: &str) -> Result<&'text str, BadInput> {
        self.words.next().ok_or_else(|| self.error(&format!("{what} is missing")))
    }

    fn number(&mut self, what: &str, min: f64, max: f64) -> Result<f64, BadInput> {
        let word = self.word(what)?;
        match word.parse::<f64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            _ => Err(self.error(&format!("`{word}` where {what} is expected, a number from {min} to {max}"))),
        }
    }

    fn whole(&mut self, what: &str, min: u32, max: u32) -> Result<u32, BadInput> {
        let word = self.word(what)?;
        match word.parse() {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            _ => {
                Err(self
                    .error(&format!("`{word}` where {what} is expected, a whole number from {min} to {max}")))
            }
        }
    }

    fn point(&mut self, what: &str) -> Result<Vector, BadInput> {
        let mut coordinate = |axis| self.number(&format!("{axis} of {what}"), -FAR, FAR);
        Ok(Vector::new(coordinate("x")?, coordinate("y")?, coordinate("z")?))
    }

    fn color(&mut self, what: &str) -> Result<Vector, BadInput> {
        let mut part = |name| self.number(&format!("the {name} of {what}"), 0.0, 10.0);
        Ok(Vector::new(part("red")?, part("green")?, part("blue")?))
    }

    fn finish(&mut self) -> Result<(), BadInput> {
        self.words
            .next()
            .map_or(Ok(()), |word| Err(self.error(&format!("`{word}` is too much on this line"))))
    }

    fn error(&self, message: &str) -> BadInput {
        BadInput::at_line("scene", self.number, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of line.
    const ALL: &str = "size 40 30 # small\nantialias 1\nbounces 0\ncamera 0 0 9  0 0 0  45\n\
            background 0 0 1\nambient 0 0 0\nlight 1 2 3  1 1 1\n\n\
            material red color 1 0 0 diffuse 0.5 specular 1 20 mirror 0.1 glass 0.2 1.5 checker 0 0 0 2\n\
            sphere red 0 0 0 1\nplane red 0 -1 0  0 2 0\ntriangle red 0 0 0  1 0 0  0 1 0\n";

    fn error(text: &str) -> String {
        parse(text).expect_err("the text is wrong").0
    }

    #[test]
    fn every_kind_of_line_is_read() {
        let scene = parse(ALL).expect("the text is a scene");
        assert_eq!((scene.view.width, scene.view.height, scene.view.bounces), (40, 30, 0));
        assert_eq!(scene.planes[0].normal, Vector::new(0.0, 1.0, 0.0));
        assert_eq!((scene.solids.len(), scene.lights.len()), (2, 1));
        assert_eq!(scene.materials[0].checker, Some((Vector::ZERO, 2.0)));
    }

    #[test]
    fn errors_name_the_line_and_what_is_expected() {
        assert_eq!(
            error(""),
            "input `scene`, line 1: the file ends where `camera EYE TARGET ANGLE` is expected; no line says where it is"
        );
        assert_eq!(
            error("\nsize 0 3"),
            "input `scene`, line 2: `0` where the width is expected, a whole number from 1 to 8192"
        );
        assert_eq!(error("light 1 2"), "input `scene`, line 1: z of the light is missing");
        assert_eq!(
            error("light 1 2 nan"),
            "input `scene`, line 1: `nan` where z of the light is expected, a number from -1000000 to 1000000"
        );
        assert_eq!(
            error("sphere red 0 0 0 1"),
            "input `scene`, line 1: the material `red` is not described above"
        );
        assert_eq!(error("material m\nmaterial m"), "input `scene`, line 2: a second material `m`");
        assert_eq!(error("antialias 2 3"), "input `scene`, line 1: `3` is too much on this line");
        assert_eq!(error("camera 1 1 1 1 1 1 40"), "input `scene`, line 1: the camera looks at where it is");
        assert!(error("cube").starts_with("input `scene`, line 1: `cube` where one of size, "));
        assert!(error("material m shiny").starts_with("input `scene`, line 1: `shiny` where one of color, "));
        assert!(error("material m\nplane m 0 0 0 0 0 0").ends_with("needs a length"));
        assert!(error("material m\ntriangle m 0 0 0 1 1 1 2 2 2").ends_with("on one line"));
        assert!(error("size 8000 8000").ends_with("at most 16777216 pixels"));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        sateen::testing::damage_input("scene", ALL, || parse(&sateen::input_text("scene")?));
    }
}
