//! Modules of a crate import one another in one direction.
//!
//! A module and those below it belong together, and may name each other: what is compared are
//! modules of the same parent, each with all that is below it. What a file passes on by `pub use`
//! is imported from where it stands.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, UseTree, Visibility};

use super::Finding;
use crate::tree::{Source, Tree};

/// Crates with more circles than they may have.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Crate<'_>> = BTreeMap::new();
    for source in tree.shipped() {
        let Some((folder, path)) = source.place() else { continue };
        crates.entry(folder).or_default().insert(module(path), source);
    }
    crates.iter().flat_map(|(folder, files)| judge(folder, files)).collect()
}

/// The files of a crate by their modules.
type Crate<'a> = BTreeMap<Module, &'a Source>;
/// A module as the names on its way: `server::desk`.
type Module = Vec<String>;

fn judge(folder: &str, files: &Crate<'_>) -> Vec<Finding> {
    let imports = imports(files);
    let circles = circles(&imports);
    let most = MOST.iter().find(|(known, _)| *known == folder).map_or(0, |(_, most)| *most);
    if circles.len() <= most {
        return Vec::new();
    }
    let finding = |circle: &BTreeSet<&Module>| {
        let names: Vec<_> = circle.iter().map(|module| module.join("::")).collect();
        Finding::of(folder, format!("import in a circle: {}", names.join(", ")))
    };
    circles.iter().map(finding).collect()
}

/// `server/desk.rs` as `server::desk`; nothing for the root.
fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let names = path.split('/').filter(|name| !matches!(*name, "lib" | "main"));
    names.map(str::to_owned).collect()
}

/// What each module imports of the others below the same parent.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

fn imports(files: &Crate<'_>) -> Imports {
    let mut imports = Imports::new();
    for (module, source) in files {
        let targets = uses(&source.items, false).into_iter();
        for target in targets.filter_map(|path| resolve(files, module, &path, 2)) {
            let common = module.iter().zip(target).take_while(|(one, other)| one == other).count();
            // A module and one below it have no parent in common but themselves.
            if let (Some(one), Some(other)) = (module.get(..=common), target.get(..=common)) {
                imports.entry(one.to_vec()).or_default().insert(other.to_vec());
                imports.entry(other.to_vec()).or_default();
            }
        }
    }
    imports
}

/// The file in which a path that `module` imports ends. What that file passes on is followed,
/// for so many steps.
fn resolve<'a>(
    files: &'a Crate<'_>,
    module: &Module,
    path: &[String],
    steps: u32,
) -> Option<&'a Module> {
    let whole = absolute(files, module, path)?;
    let at = (0..=whole.len()).rev().find(|length| files.contains_key(&whole[..*length]))?;
    let (found, source) = files.get_key_value(&whole[..at])?;
    let passed_on = whole.get(at).filter(|_| steps > 0).and_then(|name| {
        let mut passed = uses(&source.items, true).into_iter();
        let further = passed.find(|path| path.last() == Some(name))?;
        resolve(files, found, &further, steps - 1)
    });
    passed_on.or(Some(found))
}

/// A path from the root of the crate; none if it leads out of it.
fn absolute(files: &Crate<'_>, module: &Module, path: &[String]) -> Option<Module> {
    let above = path.iter().take_while(|name| *name == "super").count();
    let base = match path.first()?.as_str() {
        "crate" => return Some(path[1..].to_vec()),
        "self" => return Some([module, &path[1..]].concat()),
        "super" => module.get(..module.len().checked_sub(above)?)?,
        child => {
            let below = [module.as_slice(), &[child.to_owned()]].concat();
            return files.contains_key(&below).then(|| [module, path].concat());
        }
    };
    Some([base, &path[above..]].concat())
}

/// The path of every import, or of those that are passed on.
fn uses(items: &[Item], passed_on: bool) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for item in items {
        let Item::Use(item) = item else { continue };
        if !passed_on || !matches!(item.vis, Visibility::Inherited) {
            expand(&mut Vec::new(), &item.tree, &mut found);
        }
    }
    found
}

fn expand(prefix: &mut Vec<String>, tree: &UseTree, found: &mut Vec<Vec<String>>) {
    let mut end = |name: String| found.push([prefix.as_slice(), &[name]].concat());
    match tree {
        UseTree::Name(name) => end(name.ident.to_string()),
        UseTree::Rename(name) => end(name.ident.to_string()),
        UseTree::Glob(_) => found.push(prefix.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| expand(prefix, tree, found)),
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            expand(prefix, &path.tree, found);
            prefix.pop();
        }
    }
}

/// The groups of modules that reach one another.
fn circles(imports: &Imports) -> BTreeSet<BTreeSet<&Module>> {
    let reached = |from| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(imports[module].iter().filter(|one| reached.insert(*one)));
        }
        reached
    };
    let reached: BTreeMap<_, _> = imports.keys().map(|module| (module, reached(module))).collect();
    let circle = |(module, all): (&&Module, &BTreeSet<_>)| {
        let back = |one: &&&Module| reached[**one].contains(*module);
        all.contains(*module).then(|| all.iter().filter(back).copied().collect())
    };
    reached.iter().filter_map(circle).collect()
}

/// What is left of them; none may be added.
const MOST: [(&str, usize); 2] = [("dataplane", 3), ("mars", 1)];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(name, text)| (format!("crates/x/src/{name}.rs"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        find(&Tree::of_sources(&files)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn fires_on_files_that_import_each_other() {
        let files = [
            ("lib", "mod a; mod b; mod c; pub use c::d::D;"),
            ("a", "use crate::b::{self, B}; use std::fs;"),
            ("b", "use super::D;"),
            ("c", "pub mod d;"),
            ("c/d", "use crate::a::A; pub struct D;"),
        ];
        assert_eq!(found(&files), ["import in a circle: a, b, c"]);
    }

    #[test]
    fn is_silent_on_one_direction_and_on_a_file_with_those_below_it() {
        let files = [
            ("lib", "mod a; mod b; pub use a::A;"),
            ("a", "mod c; use c::C; use crate::b::B;"),
            ("a/c", "use super::A; use crate::b::B;"),
            ("b", "#[cfg(test)] mod tests { use crate::a::A; }"),
        ];
        assert!(found(&files).is_empty());
    }
}
