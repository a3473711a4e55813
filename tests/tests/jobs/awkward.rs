//! Types that are hard to encode: the answer is the same everywhere, or an error names the type and the field.

use std::panic::catch_unwind;

use awkward::{refused, travels};
use sateen_host::{Finished, Output};
use sateen_tests::grid::{Setting, awkward, call, pristine, shared};

const SETTINGS: [Setting; 5] = [shared(1), shared(2), shared(4), pristine(1), pristine(4)];
/// Sixteen leaves, of some tens of microseconds each: enough for other workers to take some.
const WORDS: [&str; 2] = ["4", "30000"];

#[test]
fn encodable_types_are_the_same_everywhere() {
    let app = awkward();
    for (name, natively) in travels::ALL {
        let expected = natively(4, 1);
        assert!(expected.starts_with("16 times "), "{name}: {expected}");
        for setting in SETTINGS {
            match call(&app, name, &WORDS, setting) {
                Ok(Finished { output: Output::Text(text), jobs, .. }) => {
                    assert_eq!(text, expected, "{name} with {setting:?}");
                    assert!(!setting.pristine || jobs.exposed > 0, "{name} with {setting:?}: {jobs:?}");
                }
                other => panic!("{name} with {setting:?} gave {other:?}"),
            }
        }
    }
}

#[test]
fn lossy_types_are_refused_by_name_everywhere() {
    let app = awkward();
    for (name, _, words) in refused::ALL {
        for setting in SETTINGS {
            let Err(error) = call(&app, name, &WORDS, setting) else {
                panic!("{name} with {setting:?} is not refused")
            };
            let error = error.to_string();
            for word in *words {
                assert!(error.contains(word), "{name} with {setting:?}: no `{word}` in: {error}");
            }
        }
    }
}

/// The same in an app's own tests, where its author sees the error first.
#[test]
fn lossy_types_are_refused_natively() {
    for (name, natively, words) in refused::ALL {
        let natively = *natively;
        let Err(payload) = catch_unwind(|| natively(4, 1)) else { panic!("{name} is not refused") };
        let error = payload.downcast_ref::<String>().unwrap_or_else(|| panic!("{name}: a message"));
        for word in *words {
            assert!(error.contains(word), "{name}: no `{word}` in: {error}");
        }
    }
}
