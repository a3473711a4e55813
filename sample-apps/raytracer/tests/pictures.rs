//! Expected contents of pictures, read back by an independent decoder.

use std::io::Cursor;

use raytracer::{main, plain};
use sateen::BadInput;
use sateen::testing::set_input;

const CAMERA: &str = "size 31 21\nantialias 1\ncamera 0 0 10  0 0 0  40\nambient 0 0 0\nbackground 0 0 1\n";

/// A picture's columns and its pixels, row by row.
struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    fn decoded(file: Vec<u8>) -> Self {
        let mut reader = png::Decoder::new(Cursor::new(file)).read_info().expect("a PNG file");
        assert_eq!(reader.output_color_type(), (png::ColorType::Rgb, png::BitDepth::Eight));
        let mut bytes = vec![0; reader.output_buffer_size().expect("the size fits")];
        reader.next_frame(&mut bytes).expect("a whole picture");
        let pixels = bytes.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Self { width: reader.info().width as usize, pixels }
    }

    fn at(&self, column: usize, row: usize) -> [u8; 3] {
        self.pixels[row * self.width + column]
    }
}

/// The picture of the camera and `things`, which both versions must draw alike.
fn picture(things: &str) -> Picture {
    set_input("scene", format!("{CAMERA}{things}"));
    let file = main(None).expect("a scene");
    assert!(plain(None).as_ref() == Ok(&file));
    Picture::decoded(file)
}

#[test]
fn nothing_is_background() {
    let nothing = picture("");
    assert_eq!((nothing.width, nothing.pixels.len()), (31, 31 * 21));
    assert!(nothing.pixels.iter().all(|pixel| *pixel == [0, 0, 255]));
}

#[test]
fn a_lit_sphere_is_as_bright_as_lambert_says() {
    // The light behind the viewer: the middle is lit straight on, by 0.36, whose root is 0.6.
    let ball = picture("light 0 0 100  0.36 0.36 0.36\nmaterial m color 1 1 0\nsphere m 0 0 0 2\n");
    assert_eq!(ball.at(15, 10), [153, 153, 0]);
    assert_eq!(ball.at(0, 0), [0, 0, 255]);
    // A radius of 2 at a distance of 10 is seen at an angle of asin(2/10) from the middle: 8.5 of 31 pixels to each
    // side.
    let row: Vec<bool> = (0..31).map(|column| ball.at(column, 10) != [0, 0, 255]).collect();
    let first = row.iter().position(|hit| *hit);
    let half = 15.5 * (2.0_f64 / 10.0).asin().tan() / 20_f64.to_radians().tan();
    assert_eq!(first, Some((15.5 - half).ceil() as usize), "{half}");
}

#[test]
fn a_thing_in_the_light_throws_a_shadow() {
    let wall = "light 0 0 9  1 1 1\nmaterial wall color 1 1 1\nmaterial dark color 0 0 0\nplane wall 0 0 -1  0 0 1\n";
    let free = picture(wall);
    assert!(free.at(13, 10)[0] > 250);
    // A small ball right in front of the light shades the whole wall; it is too small to be seen.
    let shadowed = picture(&format!("{wall}sphere dark 0.0 0.0 8.9 0.09\n"));
    assert_eq!(shadowed.at(13, 10), [0, 0, 0]);
}

#[test]
fn a_mirror_shows_what_is_behind_the_viewer() {
    let things = "ambient 1 1 1\nmaterial mirror diffuse 0 mirror 1\nmaterial red color 1 0 0\n\
        plane mirror 0 0 0  0 0 1\nplane red 0 0 20  0 0 1\n";
    let mirrored = picture(things);
    assert!(mirrored.pixels.iter().all(|pixel| *pixel == [255, 0, 0]));
}

#[test]
fn glass_without_refraction_is_not_seen() {
    let things = "ambient 1 1 1\nmaterial wall color 1 0 0 checker 0 1 0 1\nmaterial air diffuse 0 glass 1 1\n\
        plane wall 0 0 -3.5  0 0 1\n";
    let without = picture(things);
    let with = picture(&format!("{things}sphere air 0 0 0 2\nsphere air 0.5 1 3 1\n"));
    assert!(with.pixels == without.pixels);
    let refracted = picture(&format!("{things}material glass diffuse 0 glass 1 1.5\nsphere glass 0 0 0 2\n"));
    assert!(refracted.pixels != without.pixels);
}

#[test]
fn a_triangle_is_seen_from_both_sides() {
    let front = picture("ambient 1 1 1\nmaterial m color 1 0 0\ntriangle m -9 -9 0  9 -9 0  0 20 0\n");
    let back = picture("ambient 1 1 1\nmaterial m color 1 0 0\ntriangle m 9 -9 0  -9 -9 0  0 20 0\n");
    assert_eq!(front.at(15, 10), [255, 0, 0]);
    assert!(front.pixels == back.pixels);
}

#[test]
fn both_versions_draw_many_things_alike() {
    // Whatever these numbers are, boxes must not hide a sphere: the same as planes of one sphere each.
    let mut state = 7_u64;
    let mut random = |span: f64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * span
    };
    let mut things =
        "light 5 9 7 1 1 1\nmaterial m color 0.9 0.8 0.1 specular 0.5 20 mirror 0.3 glass 0.2 1.3\n"
            .to_owned();
    for _ in 0..60 {
        things +=
            &format!("sphere m {} {} {} {}\n", random(8.0), random(6.0), random(8.0), 0.1 + random(0.1));
        let (x, y, z) = (random(8.0), random(6.0), random(8.0));
        things += &format!("triangle m {x} {y} {z} {} {y} {} {x} {} {z}\n", x + 1.0, z - 0.5, y + 0.7);
    }
    let shown = picture(&things);
    let hit = shown.pixels.iter().filter(|pixel| **pixel != [0, 0, 255]).count();
    assert!(hit > 100, "{hit} pixels show something");
}

#[test]
fn a_flake_and_the_scene_of_this_folder_are_drawn_alike() {
    assert!(main(Some(1)).is_ok() && main(Some(1)) == plain(Some(1)));
    set_input("scene", include_str!("../scenes/marbles.txt"));
    let file = main(None).expect("a scene");
    assert!(plain(None).as_ref() == Ok(&file));
    assert_eq!(Picture::decoded(file).pixels.len(), 320 * 200);
}

#[test]
fn bad_input_is_refused() {
    set_input("scene", "size 10 10\nball 1 2 3\n");
    let refused = main(None);
    assert!(
        refused
            .as_ref()
            .is_err_and(|BadInput(why)| why.starts_with("input `scene`, line 2: `ball` where one of "))
    );
    assert_eq!(plain(None), refused);
    let deep = BadInput("a flake 6 deep is too deep; at most 5 is allowed".to_owned());
    assert_eq!(main(Some(6)), Err(deep));
}
