use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::of;

#[derive(Serialize, Deserialize)]
struct Board {
    size: u8,
    rows: [u32; 4],
    next: Option<Box<Board>>,
}

#[derive(Serialize, Deserialize)]
struct Meters(f64);

#[derive(Serialize, Deserialize)]
struct Nothing;

#[derive(Serialize, Deserialize)]
struct Wrapper<T> {
    inner: T,
}

#[derive(Serialize, Deserialize)]
enum Move {
    Pass,
    Place(u8, u8),
    Castle { long: bool, with: Colour },
    Far(Meters),
}

#[derive(Serialize, Deserialize)]
enum Colour {
    Black,
    White,
}

#[derive(Serialize, Deserialize)]
enum Expression {
    Sum(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Number(i64),
}

#[derive(Serialize, Deserialize)]
struct Family {
    name: String,
    children: Vec<Family>,
    by_name: BTreeMap<String, Family>,
}

#[test]
fn plain_types_and_their_combinations_have_a_shape() {
    assert_eq!(of::<(u64, String, Option<i8>)>().as_deref(), Some("(u64,str,?i8)"));
    assert_eq!(of::<(NonZeroU32,)>().as_deref(), Some("(u32)"));
    assert_eq!(of::<Vec<BTreeMap<char, ()>>>().as_deref(), Some("[{char:()}]"));
    assert_eq!(of::<[u16; 5]>().as_deref(), Some("[u16;5]"));
    assert_eq!(of::<Result<Meters, String>>().as_deref(), Some("Result<Ok(Meters(f64)),Err(str)>"));
}

#[test]
fn structs_and_enums_have_their_names() {
    assert_eq!(of::<Nothing>().as_deref(), Some("Nothing!"));
    assert_eq!(
        of::<Vec<Move>>().as_deref(),
        Some("[Move<Pass,Place(u8,u8),Castle{long:bool,with:Colour<Black,White>},Far(Meters(f64))>]")
    );
    let wrapped = "Wrapper{inner:Wrapper{inner:u8}}";
    assert_eq!(of::<Wrapper<Wrapper<u8>>>().as_deref(), Some(wrapped), "two types of one name");
}

#[test]
fn types_that_contain_themselves_end() {
    assert_eq!(of::<Board>().as_deref(), Some("Board{size:u8,rows:[u32;4],next:?@0}"));
    assert_eq!(of::<Expression>().as_deref(), Some("Expression<Sum(@0,@0),Not(@0),Number(i64)>"));
    assert_eq!(of::<Family>().as_deref(), Some("Family{name:str,children:[@0],by_name:{str:@0}}"));
    let both = "Wrapper{inner:Board{size:u8,rows:[u32;4],next:?@0}}";
    assert_eq!(of::<Wrapper<Board>>().as_deref(), Some(both));
}

#[test]
fn types_that_refuse_examples_or_never_end_have_no_shape() {
    #[derive(Deserialize)]
    #[serde(try_from = "u8")]
    #[allow(dead_code)]
    struct Even(u8);
    impl TryFrom<u8> for Even {
        type Error = String;
        fn try_from(value: u8) -> Result<Self, String> {
            if value.is_multiple_of(2) { Ok(Self(value)) } else { Err("odd".to_owned()) }
        }
    }
    assert_eq!(of::<Even>(), None);
    #[derive(Deserialize)]
    struct Endless(#[allow(dead_code)] Box<Endless>);
    assert_eq!(of::<Endless>(), None);
    #[derive(Deserialize)]
    struct Spaced(
        #[serde(rename = "a,b")]
        #[allow(dead_code)]
        u8,
    );
    assert_eq!(of::<Spaced>().as_deref(), Some("Spaced(u8)"));
    #[derive(Deserialize)]
    struct Marked {
        #[serde(rename = "a,b")]
        #[allow(dead_code)]
        field: u8,
    }
    assert_eq!(of::<Marked>(), None);
}
