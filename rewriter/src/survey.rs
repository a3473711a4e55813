//! Where a module needs checks.

use std::collections::HashMap;

use sateen_abi::ATTEMPT;
use wasmparser::{
    ElementItems, ElementSectionReader, ExternalKind, FuncType, FunctionBody, Operator, OperatorsReader,
    Parser, Payload, TypeRef, ValType,
};

use crate::Error;
use crate::calls::{Call, CallGraph, Node};

/// A bulk operation of less than this many bytes or elements takes no longer than other instructions.
const BULK_MIN: u32 = 4096;
/// A function with more parameters than this does not pass them through its poll: most would go through memory.
const PASSED_MAX: usize = 6;
/// The name of the import that calls back into the guest.
const ATTEMPT_IMPORT: &str = "attempt";

/// What a module's functions need.
#[derive(Debug, Default)]
pub struct Survey {
    /// Imported functions, whose indices come first.
    pub imported_functions: u32,
    pub imported_memories: u32,
    /// The index of the type `() -> ()` that is added.
    pub types: u32,
    /// By index among the functions that have code.
    pub functions: Vec<Function>,
    /// The parameters that pass through polls, for each function that is added for them.
    pub passed: Vec<Vec<ValType>>,
}

/// What one function needs.
#[derive(Debug, Default)]
pub struct Function {
    /// Whether and how its entry polls.
    pub entry: Entry,
    /// For each loop, in the order of its code: whether it calls, and therefore polls instead of only stopping.
    pub loops_call: Vec<bool>,
    /// Whether it has bulk operations.
    has_bulk: bool,
}

/// What a function does first.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// It does not poll.
    #[default]
    Quiet,
    /// It polls.
    Polls,
    /// It polls by the added function with this number, which returns the parameters.
    Passes(usize),
}

/// What is known of a module while it is read.
#[derive(Default)]
struct Reading {
    survey: Survey,
    /// The type of each function, those imported first.
    function_types: Vec<u32>,
    types: Vec<FuncType>,
    /// Types with equal parameters and results have one number.
    equal_types: Vec<u32>,
    /// Functions that may be called through a table.
    in_tables: Vec<u32>,
    /// The import that calls `sateen_attempt`, and that function.
    attempt_imports: Vec<u32>,
    attempted: Option<u32>,
    /// By function with code.
    nodes: Vec<Node>,
}

impl Survey {
    /// Reads the whole module, which is valid.
    pub fn of(module: &[u8]) -> Result<Self, Error> {
        let mut reading = Reading::default();
        for payload in Parser::new(0).parse_all(module) {
            reading.note(payload?)?;
        }
        Ok(reading.finish())
    }

    /// Whether no function needs a check.
    pub fn is_empty(&self) -> bool {
        self.functions
            .iter()
            .all(|function| !function.polls() && !function.has_bulk && function.loops_call.is_empty())
    }

    /// Whether the entry of the function with this index polls.
    pub fn polls(&self, function: u32) -> bool {
        (function.checked_sub(self.imported_functions))
            .and_then(|place| self.functions.get(place as usize))
            .is_some_and(Function::polls)
    }
}

impl Function {
    fn polls(&self) -> bool {
        self.entry != Entry::Quiet
    }
}

impl Reading {
    fn note(&mut self, payload: Payload<'_>) -> Result<(), Error> {
        match payload {
            Payload::TypeSection(reader) => {
                let mut known = HashMap::new();
                for ty in reader.into_iter_err_on_gc_types() {
                    let (next, ty) = (self.equal_types.len() as u32, ty?);
                    self.equal_types.push(*known.entry(ty.clone()).or_insert(next));
                    self.types.push(ty);
                }
                self.survey.types = self.equal_types.len() as u32;
            }
            Payload::ImportSection(reader) => {
                for import in reader.into_imports() {
                    let import = import?;
                    match import.ty {
                        TypeRef::Func(ty) => {
                            if import.name == ATTEMPT_IMPORT {
                                self.attempt_imports.push(self.survey.imported_functions);
                            }
                            self.function_types.push(ty);
                            self.survey.imported_functions += 1;
                        }
                        TypeRef::Memory(_) => self.survey.imported_memories += 1,
                        _ => {}
                    }
                }
            }
            Payload::FunctionSection(reader) => {
                for ty in reader {
                    self.function_types.push(ty?);
                }
            }
            Payload::ExportSection(reader) => {
                for export in reader {
                    let export = export?;
                    if export.kind == ExternalKind::Func && export.name == ATTEMPT {
                        self.attempted = Some(export.index);
                    }
                }
            }
            Payload::GlobalSection(reader) => {
                for global in reader {
                    self.note_references(global?.init_expr.get_operators_reader())?;
                }
            }
            Payload::TableSection(reader) => {
                for table in reader {
                    if let wasmparser::TableInit::Expr(init) = table?.init {
                        self.note_references(init.get_operators_reader())?;
                    }
                }
            }
            Payload::ElementSection(reader) => self.note_elements(reader)?,
            Payload::CodeSectionEntry(body) => {
                let (function, node) = self.read_function(&body)?;
                self.survey.functions.push(function);
                self.nodes.push(node);
            }
            _ => {}
        }
        Ok(())
    }

    fn note_elements(&mut self, reader: ElementSectionReader<'_>) -> Result<(), Error> {
        for element in reader {
            match element?.items {
                ElementItems::Functions(functions) => {
                    for function in functions {
                        self.in_tables.push(function?);
                    }
                }
                ElementItems::Expressions(_, expressions) => {
                    for expression in expressions {
                        self.note_references(expression?.get_operators_reader())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn note_references(&mut self, reader: OperatorsReader<'_>) -> Result<(), Error> {
        for operator in reader {
            if let Operator::RefFunc { function_index } = operator? {
                self.in_tables.push(function_index);
            }
        }
        Ok(())
    }

    fn read_function(&mut self, body: &FunctionBody<'_>) -> Result<(Function, Node), Error> {
        let (mut function, mut node) = (Function::default(), Node::default());
        // The blocks around the present instruction: the number of the loop, if it is one.
        let mut around: Vec<Option<usize>> = Vec::new();
        // Whether the last instruction was a call, which calls unless it never returns.
        let mut is_after_call = false;
        let mut bulk = BulkPolls::default();
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            node.instructions += 1;
            let is_bulk = bulk.come_before(&operator);
            if is_bulk || (is_after_call && !matches!(operator, Operator::Unreachable)) {
                for number in around.iter().flatten() {
                    function.loops_call[*number] = true;
                }
            }
            match operator {
                Operator::Loop { .. } => {
                    around.push(Some(function.loops_call.len()));
                    function.loops_call.push(false);
                }
                Operator::Block { .. } | Operator::If { .. } => around.push(None),
                Operator::End => {
                    around.pop();
                }
                Operator::RefFunc { function_index } => self.in_tables.push(function_index),
                _ => {}
            }
            is_after_call = matches!(operator, Operator::Call { .. } | Operator::CallIndirect { .. });
            node.calls.extend(self.call(&operator));
            function.has_bulk |= is_bulk;
        }
        Ok((function, node))
    }

    /// The call of functions with code that an instruction makes.
    fn call(&self, operator: &Operator<'_>) -> Option<Call> {
        match *operator {
            Operator::Call { function_index } if self.attempt_imports.contains(&function_index) => {
                Some(Call::To(self.with_code(self.attempted?)?))
            }
            Operator::Call { function_index } => Some(Call::To(self.with_code(function_index)?)),
            Operator::CallIndirect { type_index, .. } => {
                Some(Call::OfType(*self.equal_types.get(type_index as usize)?))
            }
            _ => None,
        }
    }

    /// The number of a function among those with code, if it is one.
    fn with_code(&self, function: u32) -> Option<usize> {
        function.checked_sub(self.survey.imported_functions).map(|function| function as usize)
    }

    fn finish(mut self) -> Survey {
        self.in_tables.sort_unstable();
        self.in_tables.dedup();
        let in_tables = self.in_tables.iter().filter_map(|function| {
            let ty = *self.function_types.get(*function as usize)?;
            Some((*self.equal_types.get(ty as usize)?, self.with_code(*function)?))
        });
        let polls = CallGraph::new(&self.nodes, in_tables).polling_entries();
        for place in (0..polls.len()).filter(|place| polls[*place]) {
            self.survey.functions[place].entry = self.polling_entry(place);
        }
        self.survey
    }

    fn polling_entry(&mut self, place: usize) -> Entry {
        let ty = self.function_types.get(self.survey.imported_functions as usize + place);
        let Some(ty) = ty.and_then(|ty| self.types.get(*ty as usize)) else { return Entry::Polls };
        let parameters = ty.params();
        let can_pass = |ty: &ValType| !matches!(ty, ValType::Ref(_));
        if parameters.is_empty() || parameters.len() > PASSED_MAX || !parameters.iter().all(can_pass) {
            return Entry::Polls;
        }
        let passed = &mut self.survey.passed;
        Entry::Passes(passed.iter().position(|known| known == parameters).unwrap_or_else(|| {
            passed.push(parameters.to_vec());
            passed.len() - 1
        }))
    }
}

/// Whether the operation takes time in proportion to an operand.
pub fn is_bulk(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::MemoryFill { .. }
            | Operator::MemoryCopy { .. }
            | Operator::MemoryInit { .. }
            | Operator::TableFill { .. }
            | Operator::TableCopy { .. }
            | Operator::TableInit { .. }
    )
}

/// Which bulk operations of a function have a poll before them: all whose size may be large.
#[derive(Default)]
pub struct BulkPolls {
    /// Whether the last instruction was a small number: the size, if a bulk operation follows.
    was_few: bool,
}

impl BulkPolls {
    /// Whether the function polls before this instruction, which is the next.
    pub fn come_before(&mut self, operator: &Operator<'_>) -> bool {
        let is_few = matches!(operator, Operator::I32Const { value } if value.cast_unsigned() < BULK_MIN);
        let was_few = std::mem::replace(&mut self.was_few, is_few);
        is_bulk(operator) && !was_few
    }
}
