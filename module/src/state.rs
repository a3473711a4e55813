//! What an instance could remember elsewhere than in its memory and its exported globals.

use wasmparser::{BinaryReaderError, ExternalKind, Operator, Parser, Payload, ValType};

/// Why two instances with equal memories and equal exported globals may differ; `None` if they cannot. `bytes` are a
/// module that was inspected.
pub fn hidden_state(bytes: &[u8]) -> Option<String> {
    find(bytes).unwrap_or_else(|error| Some(format!("it cannot be read: {}", error.message())))
}

/// Whether a new instance runs code of its own, which may change what the module's data has put in its memory; also if the
/// `bytes` cannot be read.
pub fn has_start(bytes: &[u8]) -> bool {
    let is_start = |payload| matches!(payload, Err(_) | Ok(Payload::StartSection { .. }));
    Parser::new(0).parse_all(bytes).any(is_start)
}

fn find(bytes: &[u8]) -> Result<Option<String>, BinaryReaderError> {
    let mut mutable = Vec::new();
    let mut hidden = None;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::GlobalSection(reader) => {
                for (index, global) in reader.into_iter().enumerate() {
                    let ty = global?.ty;
                    if ty.mutable {
                        mutable.push((index as u32, matches!(ty.content_type, ValType::Ref(_))));
                    }
                }
            }
            Payload::ExportSection(reader) => {
                for export in reader {
                    let export = export?;
                    if export.kind == ExternalKind::Global {
                        // A reference means nothing in another instance.
                        mutable.retain(|(index, is_reference)| *index != export.index || *is_reference);
                    }
                }
            }
            Payload::CodeSectionEntry(body) if hidden.is_none() => {
                for operator in body.get_operators_reader()? {
                    hidden = hidden.or(changed_by(&operator?).map(|what| format!("its code changes {what}")));
                }
            }
            _ => {}
        }
    }
    let global = mutable.first().map(|(index, _)| format!("its mutable global {index} is not exported"));
    Ok(hidden.or(global))
}

fn changed_by(operator: &Operator<'_>) -> Option<&'static str> {
    use Operator::*;
    match operator {
        TableSet { .. } | TableGrow { .. } | TableCopy { .. } | TableInit { .. } | TableFill { .. } => {
            Some("a table")
        }
        ElemDrop { .. } | DataDrop { .. } => Some("its segments"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNREADABLE: &[u8] = b"\0asm\x01\0\0\0\x07";

    #[test]
    fn start_functions_are_found() {
        let of = |fields| has_start(&wat::parse_str(format!("(module {fields})")).expect("it is valid"));
        assert!(!of("(memory 1) (data (i32.const 0) \"a\") (func)"));
        assert!(of("(func $begin) (start $begin)"));
        assert!(has_start(UNREADABLE));
    }

    #[test]
    fn state_outside_memory_is_found() {
        for (fields, expected) in [
            ("(memory 1) (global i32 (i32.const 1))", None),
            (r#"(global (export "__stack_pointer") (mut i32) (i32.const 1))"#, None),
            ("(global (mut i32) (i32.const 1))", Some("its mutable global 0 is not exported")),
            (
                r#"(global (mut i64) (i64.const 1)) (global (export "a") (mut funcref) (ref.null func))"#,
                Some("its mutable global 0 is not exported"),
            ),
            (
                r#"(global (export "a") (mut funcref) (ref.null func))"#,
                Some("its mutable global 0 is not exported"),
            ),
            (
                "(table 1 funcref) (func (table.set (i32.const 0) (ref.null func)))",
                Some("its code changes a table"),
            ),
            (
                "(table 1 funcref) (func (drop (table.grow (ref.null func) (i32.const 1))))",
                Some("its code changes a table"),
            ),
            (r#"(memory 1) (data "a") (func (data.drop 0))"#, Some("its code changes its segments")),
            ("(table 1 funcref) (func (call_indirect (i32.const 0)))", None),
        ] {
            let bytes = wat::parse_str(format!("(module {fields})")).expect("the test's own text is valid");
            assert_eq!(hidden_state(&bytes).as_deref(), expected, "{fields}");
        }
        assert!(hidden_state(UNREADABLE).is_some_and(|why| why.starts_with("it cannot be read")));
    }
}
