use super::*;

#[track_caller]
fn shows(shape: &str, bytes: &[u8], expected: &str) {
    let shape = Shape::parse(shape).expect("it is a shape");
    assert_eq!(shape.show(bytes, 1000).as_deref(), Some(expected));
}

#[test]
fn values_are_written_as_rust_would() {
    shows("(u64,str,?i8)", &[0x80, 1, 2, b'h', b'i', 1, 0xff], "(128, \"hi\", Some(-1))");
    shows("[i32]", &[3, 0, 1, 2], "[0, -1, 1]");
    shows("{char:()}", &[1, 1, b'x'], "{'x': ()}");
    shows("f64", &1.0_f64.to_le_bytes(), "1.0");
    shows("bytes", &[2, b'a', 0], r#"b"a\x00""#);
    shows(
        "Board{size:u8,rows:[u16;2],next:?@0}",
        &[9, 1, 2, 1, 8, 3, 4, 0],
        "Board { size: 9, rows: [1, 2], next: Some(Board { size: 8, rows: [3, 4], next: None }) }",
    );
    let moves = "[Move<Pass,Place(u8,u8),Castle{long:bool,with:Colour<Black,White>},Far(Meters(u8))>]";
    shows(
        moves,
        &[4, 0, 1, 3, 4, 2, 1, 1, 3, 7],
        "[Pass, Place(3, 4), Castle { long: true, with: White }, Far(Meters(7))]",
    );
    shows(
        "Expression<Sum(@0,@0),Not(@0),Number(i64)>",
        &[0, 2, 2, 1, 2, 4],
        "Sum(Number(1), Not(Number(2)))",
    );
    shows("Nothing!", &[], "Nothing");
    shows("u128", &[0xff; 18].into_iter().chain([3]).collect::<Vec<u8>>(), &u128::MAX.to_string());
    shows("i64", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], &i64::MIN.to_string());
}

#[test]
fn bytes_that_do_not_fit_their_shape_are_not_shown() {
    for (shape, bytes) in [
        ("u8", &[][..]),
        ("u8", &[1, 2]),
        ("bool", &[2]),
        ("?u8", &[2, 1]),
        ("u16", &[0xff, 0xff, 0x7f]),
        ("str", &[1, 0xff]),
        ("str", &[9, b'a']),
        ("char", &[2, b'a', b'b']),
        ("E<A,B>", &[2]),
    ] {
        let shape = Shape::parse(shape).expect("it is a shape");
        assert_eq!(shape.show(bytes, 100), None, "{shape:?} {bytes:?}");
    }
}

#[test]
fn long_values_are_cut_and_endless_ones_end() {
    let cut = |shape: &str, bytes: &[u8]| Shape::parse(shape).expect("it is a shape").show(bytes, 20);
    let long = cut("[u8]", &[&[200, 1][..], &[7; 200]].concat()).expect("it is shown");
    assert!(long.len() < 40 && long.ends_with('…'), "{long}");
    let text: Vec<u8> = [100].into_iter().chain([b'x'; 100]).collect();
    assert!(cut("str", &text).is_some_and(|text| text.len() < 40 && text.ends_with("\"…")));
    // Four billion parts that take no bytes, and a type that contains itself and nothing else.
    assert!(cut("[()]", &[0xff, 0xff, 0xff, 0xff, 0xf]).is_some_and(|text| text.ends_with('…')));
    assert!(cut("[Nothing!]", &[0xff, 0xff, 0xff, 0xff, 0xf]).is_some());
    assert!(Shape::parse("A(@0)").is_some_and(|shape| shape.show(&[], usize::MAX).is_none()));
    assert!(cut("[[();4000000000];4000000000]", &[]).is_some());
}

#[test]
fn invalid_shapes_are_refused() {
    for text in ["", "u7", "(u8", "[u8;x]", "@0", "A{b}", "A{b:@1}", "u8 ", "A<,>", "{u8}", "?"] {
        assert_eq!(Shape::parse(text), None, "{text}");
    }
    assert_eq!(Shape::parse(&"?".repeat(100_000)), None);
    assert_eq!(Shape::parse(&format!("{}u8{}", "[".repeat(1000), "]".repeat(1000))), None);
}

#[test]
fn a_job_is_shown_as_a_call() {
    let shape = JobShape::parse("(Board{size:u8},u32) -> _").expect("it is one");
    assert_eq!(shape.call("count", &[5, 3], 100).as_deref(), Some("count(Board { size: 5 }, 3)"));
    assert_eq!(shape.result(&[5], 100), None);
    assert_eq!(shape.call("count", &[5], 100), None);
    assert_eq!(JobShape::parse("(u8)"), None);
}
