//! The shapes of jobs' parameters and results, for programs that show them. The app is asked for them once, here, and
//! the answers are put into the module, so that they can be read without running it.

use std::time::Duration;

use sateen_host::{
    App, Engine, Inspection, JobShape, Limits, Output, Run, RunError, RunOptions, SHAPE_PREFIX,
    SHAPES_SECTION,
};

use crate::exit::say;

/// A type whose decoding takes longer than this gets no shape.
const PATIENCE: Duration = Duration::from_secs(10);
/// The number of custom sections.
const CUSTOM: u8 = 0;

/// The module with its section of shapes, or as it was if there are none.
pub fn with_shapes(mut module: Vec<u8>, inspection: &Inspection) -> Vec<u8> {
    let told = match ask(&module, inspection) {
        Ok(told) => told,
        Err(error) => {
            say(format!("warning: parameters and results of the app's jobs will be shown as bytes: {error}"));
            return module;
        }
    };
    if !told.is_empty() {
        add_section(&mut module, SHAPES_SECTION, told.as_bytes());
    }
    module
}

/// The section's text: a line for each job that has a shape.
fn ask(module: &[u8], inspection: &Inspection) -> Result<String, RunError> {
    let tells = |name: &str| {
        inspection.exports.iter().any(|export| export.name.strip_prefix(SHAPE_PREFIX) == Some(name))
    };
    let jobs: Vec<&String> = inspection.jobs.iter().filter(|name| tells(name)).collect();
    if jobs.is_empty() {
        return Ok(String::new());
    }
    let limits = Limits { wall_time_max: Some(PATIENCE), ..Limits::default() };
    let app = App::load(&Engine::new(&limits, false)?, module, None)?;
    let mut text = String::new();
    for name in jobs {
        let options = RunOptions { threads: 1, ..RunOptions::default() };
        // A type that refuses the examples may do so by a panic.
        let Ok(finished) = Run::start_shapes(&app, name, options).and_then(Run::wait) else { continue };
        let Output::Bytes(told) = finished.output else { continue };
        let told = String::from_utf8_lossy(&told);
        if JobShape::parse(&told).is_some_and(|shape| shape.parameters.is_some() || shape.result.is_some()) {
            text.push_str(&format!("{name} {told}\n"));
        }
    }
    Ok(text)
}

/// Appends a custom section.
fn add_section(module: &mut Vec<u8>, name: &str, content: &[u8]) {
    let mut section = Vec::new();
    write_length(&mut section, name.len());
    section.extend(name.as_bytes());
    section.extend(content);
    module.push(CUSTOM);
    write_length(module, section.len());
    module.extend(section);
}

/// A length as LEB128.
fn write_length(bytes: &mut Vec<u8>, mut length: usize) {
    loop {
        let low = (length & 0x7f) as u8;
        length >>= 7;
        if length == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use sateen_host::inspect;

    use super::*;

    #[test]
    fn added_shapes_are_found() {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        let long = "x".repeat(300);
        add_section(&mut module, SHAPES_SECTION, format!("count (u8) -> bool\n{long} () -> ()\n").as_bytes());
        let inspection = inspect(&module, &Limits::default());
        assert_eq!(inspection.shapes.get("count").map(String::as_str), Some("(u8) -> bool"));
        let shape = inspection.shape_of(&long).expect("it has one");
        assert_eq!(shape.result(&[], 10).as_deref(), Some("()"));
        assert!(
            inspection.refusal().is_some_and(|why| why.starts_with("not a Sateen app")),
            "{inspection:?}"
        );
    }
}
