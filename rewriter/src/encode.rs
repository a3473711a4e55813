//! Writes a module with its checks.

use std::convert::Infallible;

use wasm_encoder::reencode::{self, Reencode, utils};
use wasm_encoder::{
    BlockType, BranchHint, BranchHints, CodeSection, EntityType, FunctionSection, ImportSection, Instruction,
    MemArg, MemoryType, Module, SectionId, TypeSection,
};
use wasmparser::{CodeSectionReader, FunctionBody, ImportSectionReader, KnownCustom, Operator};

use crate::copies::{Depth, copies};
use crate::covered::unchecked_loops;
use crate::survey::{BulkPolls, Entry, Function, Survey};
use crate::{Error, MODULE, POLL, POLL_WORDS, STOP_WORDS, WORDS, WORDS_EACH};

/// Bytes of a function's code, from which on the format's readers refuse it.
const FUNCTION_BYTES_MAX: usize = 7_654_321;

type Result<T> = std::result::Result<T, reencode::Error<Infallible>>;

pub fn encode(module: &[u8], survey: &Survey) -> std::result::Result<Vec<u8>, Error> {
    let mut encoder =
        Encoder { survey, has_imports: false, code: CodeSection::new(), hints: BranchHints::new() };
    // Hints come before the code that they are about.
    let mut functions = 0;
    for payload in wasmparser::Parser::new(0).parse_all(module) {
        if let wasmparser::Payload::CodeSectionEntry(body) = payload? {
            encoder.write_function(functions, &body)?;
            functions += 1;
        }
    }
    for parameters in &survey.passed {
        encoder.write_passing_poll(parameters)?;
    }
    let mut encoded = Module::new();
    encoder.parse_core_module(&mut encoded, wasmparser::Parser::new(0), module)?;
    Ok(encoded.finish())
}

struct Encoder<'a> {
    survey: &'a Survey,
    /// Whether the imports are written.
    has_imports: bool,
    code: CodeSection,
    /// Says of each check that it rarely finds something.
    hints: BranchHints,
}

/// Which word a check reads, and what it does if that is not 0.
#[derive(Clone, Copy)]
enum Kind {
    Stop,
    Poll,
}

/// A function that is written.
struct Checked {
    function: wasm_encoder::Function,
    /// Its checks so far, of each kind.
    stops: u64,
    polls: u64,
    hints: Vec<BranchHint>,
}

impl Checked {
    /// Begins a check: what follows until the next `end` happens if the word is not 0.
    fn begin_check(&mut self, kind: Kind, memory_index: u32) {
        let (words, count) = match kind {
            Kind::Stop => (STOP_WORDS, &mut self.stops),
            Kind::Poll => (POLL_WORDS, &mut self.polls),
        };
        *count += 1;
        let load = if *count < WORDS_EACH {
            Instruction::I32Load(MemArg { offset: words + 4 * *count, align: 2, memory_index })
        } else {
            Instruction::I32AtomicLoad(MemArg { offset: words, align: 2, memory_index })
        };
        self.function.instruction(&Instruction::I32Const(0));
        self.function.instruction(&load);
        self.hints
            .push(BranchHint { branch_func_offset: self.function.byte_len() as u32, branch_hint_value: 0 });
        self.function.instruction(&Instruction::If(BlockType::Empty));
    }
}

impl Encoder<'_> {
    /// The index of the import that polls: the last of the imported functions.
    fn poll(&self) -> u32 {
        self.survey.imported_functions
    }

    /// The index of an added function.
    fn added(&self, number: usize) -> u32 {
        self.poll() + 1 + (self.survey.functions.len() + number) as u32
    }

    /// The index of the memory with the words: the last of the imported memories.
    fn words(&self) -> u32 {
        self.survey.imported_memories
    }

    fn import(&mut self, imports: &mut ImportSection) {
        self.has_imports = true;
        let words =
            MemoryType { minimum: 1, maximum: Some(1), memory64: false, shared: true, page_size_log2: None };
        imports.import(MODULE, WORDS, words);
        imports.import(MODULE, POLL, EntityType::Function(self.survey.types));
    }

    fn check(&self, checked: &mut Checked, kind: Kind) {
        checked.begin_check(kind, self.words());
        checked.function.instruction(&match kind {
            Kind::Stop => Instruction::Unreachable,
            Kind::Poll => Instruction::Call(self.poll()),
        });
        checked.function.instruction(&Instruction::End);
    }

    fn enter(&self, checked: &mut Checked, entry: Entry) {
        match entry {
            Entry::Quiet => {}
            Entry::Polls => self.check(checked, Kind::Poll),
            Entry::Passes(number) => {
                let parameters = 0..self.survey.passed[number].len() as u32;
                checked.begin_check(Kind::Poll, self.words());
                for local in parameters.clone() {
                    checked.function.instruction(&Instruction::LocalGet(local));
                }
                checked.function.instruction(&Instruction::Call(self.added(number)));
                for local in parameters.rev() {
                    checked.function.instruction(&Instruction::LocalSet(local));
                }
                checked.function.instruction(&Instruction::End);
            }
        }
    }

    /// Writes a function that has this place among those with code.
    fn write_function(&mut self, place: usize, body: &FunctionBody<'_>) -> std::result::Result<(), Error> {
        let survey = self.survey;
        let needs = &survey.functions[place];
        let unchecked = unchecked_loops(body, |function| survey.polls(function))?;
        let mut checked = self.checked(body, needs, &unchecked, true)?;
        if checked.function.byte_len() > FUNCTION_BYTES_MAX {
            checked = self.checked(body, needs, &unchecked, false)?;
        }
        if checked.function.byte_len() > FUNCTION_BYTES_MAX {
            let function = survey.imported_functions as usize + place;
            let bytes = body.range().len();
            return Err(Error(format!(
                "function {function} has {bytes} bytes of code, and with its checks more than the {FUNCTION_BYTES_MAX} bytes that \
                 are allowed: split it"
            )));
        }
        if !checked.hints.is_empty() {
            let index = survey.imported_functions + 1 + place as u32;
            self.hints.function_hints(index, checked.hints);
        }
        self.code.function(&checked.function);
        Ok(())
    }

    /// The function with its checks, and if `may_copy` with copies of small loops.
    fn checked(
        &mut self,
        body: &FunctionBody<'_>,
        needs: &Function,
        unchecked: &[bool],
        may_copy: bool,
    ) -> Result<Checked> {
        let function = self.new_function_with_parsed_locals(body)?;
        let mut checked = Checked { function, stops: 0, polls: 0, hints: Vec::new() };
        self.enter(&mut checked, needs.entry);
        let mut loops = needs.loops_call.iter().zip(unchecked);
        let operators: Vec<_> =
            body.get_operators_reader()?.into_iter().collect::<std::result::Result<_, _>>()?;
        let (mut place, mut bulk) = (0, BulkPolls::default());
        while let Some(operator) = operators.get(place) {
            if bulk.come_before(operator) {
                self.check(&mut checked, Kind::Poll);
            }
            let (calls, is_unchecked) = match operator {
                Operator::Loop { .. } => {
                    loops.next().map_or((true, true), |(calls, unchecked)| (*calls, *unchecked))
                }
                _ => (false, false),
            };
            if is_unchecked
                && !calls
                && may_copy
                && let Some((count, length)) = copies(&operators[place..])
            {
                self.write_copies(&mut checked, &operators[place..], count, length)?;
                place += length + 2;
                continue;
            }
            checked.function.instruction(&self.instruction(operator.clone())?);
            if is_unchecked {
                self.check(&mut checked, if calls { Kind::Poll } else { Kind::Stop });
            }
            place += 1;
        }
        Ok(checked)
    }

    /// Writes a loop with `count` copies of its body, which follows its first instruction and has this `length`.
    fn write_copies(
        &mut self,
        checked: &mut Checked,
        operators: &[Operator<'_>],
        count: usize,
        length: usize,
    ) -> Result<()> {
        let Operator::Loop { blockty } = operators[0] else { return Ok(()) };
        let results = self.block_type(blockty)?;
        checked.function.instruction(&Instruction::Block(results));
        checked.function.instruction(&Instruction::Loop(results));
        self.check(checked, Kind::Stop);
        for _ in 1..count {
            checked.function.instruction(&Instruction::Block(BlockType::Empty));
        }
        for copy in 1..=count {
            // Those around this copy, in addition to the loop or what stands for it.
            let outside = (count - copy + 1) as u32;
            let mut depth = Depth::default();
            for operator in &operators[1..=length] {
                let instruction = self.instruction(operator.clone())?;
                checked.function.instruction(&depth.shifted(operator, instruction, outside));
            }
            if copy < count {
                checked.function.instruction(&Instruction::Br(outside));
                checked.function.instruction(&Instruction::End);
            }
        }
        checked.function.instruction(&Instruction::End);
        checked.function.instruction(&Instruction::End);
        Ok(())
    }

    /// Writes a function that polls and returns its parameters.
    fn write_passing_poll(&mut self, parameters: &[wasmparser::ValType]) -> Result<()> {
        let mut function = wasm_encoder::Function::new([]);
        function.instruction(&Instruction::Call(self.poll()));
        for local in 0..parameters.len() as u32 {
            function.instruction(&Instruction::LocalGet(local));
        }
        function.instruction(&Instruction::End);
        self.code.function(&function);
        Ok(())
    }
}

impl Reencode for Encoder<'_> {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32> {
        Ok(function + u32::from(function >= self.survey.imported_functions))
    }

    fn memory_index(&mut self, memory: u32) -> Result<u32> {
        Ok(memory + u32::from(memory >= self.survey.imported_memories))
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Result<()> {
        utils::parse_type_section(self, types, section)?;
        types.ty().function([], []);
        for parameters in &self.survey.passed {
            let parameters: Vec<_> = parameters.iter().map(|ty| self.val_type(*ty)).collect::<Result<_>>()?;
            types.ty().function(parameters.clone(), parameters);
        }
        Ok(())
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: ImportSectionReader<'_>,
    ) -> Result<()> {
        utils::parse_import_section(self, imports, section)?;
        self.import(imports);
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: wasmparser::FunctionSectionReader<'_>,
    ) -> Result<()> {
        utils::parse_function_section(self, functions, section)?;
        for number in 0..self.survey.passed.len() as u32 {
            functions.function(self.survey.types + 1 + number);
        }
        Ok(())
    }

    /// Writes the section of imports where the module has none, and the hints before the code.
    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        after: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Result<()> {
        let comes_later = before.is_none_or(|before| before > SectionId::Import);
        if after == Some(SectionId::Type) && comes_later && !self.has_imports {
            let mut imports = ImportSection::new();
            self.import(&mut imports);
            module.section(&imports);
        }
        if before == Some(SectionId::Code) {
            module.section(&self.hints);
        }
        Ok(())
    }

    fn parse_code_section(&mut self, code: &mut CodeSection, _: CodeSectionReader<'_>) -> Result<()> {
        *code = std::mem::take(&mut self.code);
        Ok(())
    }

    /// Only names are kept, for backtraces, if they can be read. The host has read all others from the original.
    fn parse_custom_section(
        &mut self,
        module: &mut Module,
        section: wasmparser::CustomSectionReader<'_>,
    ) -> Result<()> {
        if let KnownCustom::Name(names) = section.as_known()
            && let Ok(names) = self.custom_name_section(names)
        {
            module.section(&names);
        }
        Ok(())
    }
}
