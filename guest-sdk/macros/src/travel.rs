//! Types that cannot be sent to another machine, as far as their source text shows.
//!
//! Only the compiler knows whether a type is serialisable. For a borrowed type, its error would point to
//! generated code, so this module detects borrowed types itself.

use syn::{Error, GenericArgument, PathArguments, Result, Type};

/// Reports parts of `ty` that cannot be sent; `ty` is a type in a function with the attribute `#[what]`.
pub fn refuse_untravelled(ty: &Type, what: &str) -> Result<()> {
    let why = match ty {
        Type::Reference(_) => {
            "a reference cannot travel to another machine; take and return owned values (`String` for `&str`, `Vec<T>` for `&[T]`)"
        }
        Type::Ptr(_) => "a pointer cannot travel to another machine",
        Type::FnPtr(_) => {
            "a function cannot travel to another machine; send a value that selects which to call"
        }
        Type::ImplTrait(_) => "an `impl Trait` cannot travel to another machine; name the type",
        Type::TraitObject(_) => {
            "a `dyn Trait` cannot travel to another machine; name the type, or make an enum of all there are"
        }
        Type::Array(array) => return refuse_untravelled(&array.elem, what),
        Type::Slice(slice) => return refuse_untravelled(&slice.elem, what),
        Type::Paren(paren) => return refuse_untravelled(&paren.elem, what),
        Type::Group(group) => return refuse_untravelled(&group.elem, what),
        Type::Tuple(tuple) => return tuple.elems.iter().try_for_each(|ty| refuse_untravelled(ty, what)),
        Type::Path(path) => {
            return path.path.segments.iter().try_for_each(|segment| match &segment.arguments {
                PathArguments::AngleBracketed(arguments) => {
                    arguments.args.iter().try_for_each(|argument| refuse_argument(argument, what))
                }
                _ => Ok(()),
            });
        }
        _ => return Ok(()),
    };
    Err(Error::new_spanned(ty, format!("in a #[{what}], {why}")))
}

fn refuse_argument(argument: &GenericArgument, what: &str) -> Result<()> {
    match argument {
        GenericArgument::Type(ty) => refuse_untravelled(ty, what),
        GenericArgument::Lifetime(lifetime) if lifetime.ident != "static" => Err(Error::new_spanned(
            lifetime,
            format!(
                "in a #[{what}], a borrowed value cannot travel to another machine; take and return owned values"
            ),
        )),
        _ => Ok(()),
    }
}
