//! Writes a module with its checks.

use std::convert::Infallible;

use wasm_encoder::reencode::{self, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, EntityType, ImportSection, Instruction, MemArg, MemoryType, Module, SectionId,
    TypeSection,
};
use wasmparser::{CodeSectionReader, FunctionBody, ImportSectionReader, KnownCustom, Operator};

use crate::survey::{Function, Survey, is_bulk, is_few};
use crate::{Error, MODULE, POLL, POLL_WORD, STOP_WORD, WORDS};

type Result<T> = std::result::Result<T, reencode::Error<Infallible>>;

pub fn encode(module: &[u8], survey: &Survey) -> std::result::Result<Vec<u8>, Error> {
    let mut encoded = Module::new();
    let mut encoder = Encoder { survey, has_imports: false };
    encoder.parse_core_module(&mut encoded, wasmparser::Parser::new(0), module)?;
    Ok(encoded.finish())
}

struct Encoder<'a> {
    survey: &'a Survey,
    /// Whether the imports are written.
    has_imports: bool,
}

impl Encoder<'_> {
    /// The index of the import that polls: the last of the imported functions.
    fn poll(&self) -> u32 {
        self.survey.imported_functions
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

    fn check(&self, function: &mut wasm_encoder::Function, polls: bool) {
        let offset = if polls { POLL_WORD } else { STOP_WORD };
        function.instruction(&Instruction::I32Const(0));
        // A plain load may be merged with another, so that an endless loop would read it once. An atomic one is not.
        let word = MemArg { offset, align: 2, memory_index: self.words() };
        function.instruction(&Instruction::I32AtomicLoad(word));
        function.instruction(&Instruction::If(BlockType::Empty));
        function.instruction(&if polls { Instruction::Call(self.poll()) } else { Instruction::Unreachable });
        function.instruction(&Instruction::End);
    }

    fn write_function(
        &mut self,
        code: &mut CodeSection,
        body: &FunctionBody<'_>,
        needs: &Function,
    ) -> Result<()> {
        let mut function = self.new_function_with_parsed_locals(body)?;
        if needs.polls_at_entry {
            self.check(&mut function, true);
        }
        let mut loops_call = needs.loops_call.iter();
        let mut was_few = false;
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let operator = reader.read()?;
            if is_bulk(&operator) && !was_few {
                self.check(&mut function, true);
            }
            was_few = is_few(&operator);
            let is_loop = matches!(operator, Operator::Loop { .. });
            function.instruction(&self.instruction(operator)?);
            if is_loop {
                self.check(&mut function, loops_call.next().copied().unwrap_or(true));
            }
        }
        code.function(&function);
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

    /// Writes the section of imports where the module has none.
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
        Ok(())
    }

    fn parse_code_section(&mut self, code: &mut CodeSection, section: CodeSectionReader<'_>) -> Result<()> {
        let survey = self.survey;
        for (body, needs) in section.into_iter().zip(&survey.functions) {
            self.write_function(code, &body?, needs)?;
        }
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
