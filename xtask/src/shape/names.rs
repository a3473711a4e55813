//! Finds the module that defines what a path names.

use std::collections::BTreeMap;

use super::paths::Paths;

/// The path of a module within its crate.
pub type Module = Vec<String>;

/// Maximum re-exports that lead to one another.
const STEPS_MAX: usize = 16;

/// What a path within a crate names.
pub enum Meaning {
    /// A module that has a file.
    Module(Module),
    /// An item, or something within one, that is defined in the file of this module.
    Item(Module),
}

/// The names of all modules of a crate.
pub struct Names<'a> {
    modules: &'a BTreeMap<Module, Paths>,
}

impl<'a> Names<'a> {
    pub fn new(modules: &'a BTreeMap<Module, Paths>) -> Self {
        Names { modules }
    }

    /// What a path that is written in a module names, unless it is of another crate.
    pub fn meaning(&self, module: &[String], path: &[String]) -> Option<Meaning> {
        self.followed(module, path, STEPS_MAX).or_else(|| self.nearest(module, path).map(Meaning::Item))
    }

    fn followed(&self, module: &[String], path: &[String], steps: usize) -> Option<Meaning> {
        let (place, rest) = start(module, path)?;
        self.within(&place, rest, steps.checked_sub(1)?)
    }

    /// The module that defines a name, if the file of `module` has it from importing all names of a module.
    pub fn among_all(&self, module: &[String], name: &str) -> Option<Module> {
        match self.of_all(module, &[name.to_owned()], STEPS_MAX)? {
            Meaning::Item(of) => Some(of),
            Meaning::Module(_) => None,
        }
    }

    /// What `path` means among all names that a module imports from others.
    fn of_all(&self, module: &[String], path: &[String], steps: usize) -> Option<Meaning> {
        let imports = self.modules.get(module).into_iter().flat_map(|paths| &paths.imports);
        imports.filter(|import| import.name == "*").find_map(|import| {
            match self.followed(module, &import.path, steps)? {
                Meaning::Module(of) if of != module => self.within(&of, path, steps.checked_sub(1)?),
                _ => None,
            }
        })
    }

    /// What the names `path` mean from a module on.
    fn within(&self, module: &[String], path: &[String], steps: usize) -> Option<Meaning> {
        let Some((name, rest)) = path.split_first() else {
            return self.modules.contains_key(module).then(|| Meaning::Module(module.to_vec()));
        };
        let known = self.modules.get(module);
        let defines = known.is_some_and(|paths| paths.defines.contains(name));
        let submodule = [module, std::slice::from_ref(name)].concat();
        if !rest.is_empty() && self.modules.contains_key(&submodule) {
            return self.within(&submodule, rest, steps);
        }
        if defines {
            return Some(Meaning::Item(module.to_vec()));
        }
        let imports = known.into_iter().flat_map(|paths| &paths.imports);
        let named = imports.filter(|import| import.name == *name).find_map(|import| {
            match self.followed(module, &import.path, steps)? {
                Meaning::Module(of) => self.within(&of, rest, steps),
                item @ Meaning::Item(_) => Some(item),
            }
        });
        // A function or an item may have the name of a module beside it.
        let item = named.or_else(|| self.of_all(module, path, steps));
        item.or_else(|| self.modules.contains_key(&submodule).then_some(Meaning::Module(submodule)))
    }

    /// The module within whose file the path ends, for what macros define and what other crates do.
    fn nearest(&self, module: &[String], path: &[String]) -> Option<Module> {
        let (mut place, rest) = start(module, path)?;
        let is_own = place != module || path.first().is_some_and(|first| first == "self");
        let first = [module, &path[..1]].concat();
        if !(is_own || self.modules.contains_key(&first) || module.is_empty() && path[0] == "crate") {
            return None;
        }
        place.extend(rest.iter().cloned());
        while !self.modules.contains_key(&place) {
            place.pop()?;
        }
        Some(place)
    }
}

/// The module that a path starts from, and the names that follow.
fn start<'p>(module: &[String], path: &'p [String]) -> Option<(Module, &'p [String])> {
    let mut place = module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            place.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        _ => {}
    }
    while let Some(("super", after)) = rest.split_first().map(|(first, after)| (first.as_str(), after)) {
        place.pop();
        rest = after;
    }
    Some((place, rest))
}
