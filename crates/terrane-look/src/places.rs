//! From a place in compiled WGSL back to the author's file and line.
//!
//! wesl prints its output anew, so lines move; but the tokens of a declaration
//! keep their order. The n-th token of a declaration in the output is found
//! again as the nearest equal token in the declaration's source.

use std::ops::Range;

type Token = Range<usize>;

/// The byte ranges of the words and signs of some WGSL, comments left out.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if rest.starts_with(b"//") {
            at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            at += text[at..].find("*/").map_or(rest.len(), |end| end + 2);
        } else if rest[0].is_ascii_whitespace() {
            at += 1;
        } else {
            let length = match rest.iter().position(|byte| !word(*byte)) {
                Some(0) => text[at..].chars().next().map_or(1, char::len_utf8),
                Some(length) => length,
                None => rest.len(),
            };
            out.push(at..at + length);
            at += length;
        }
    }
    out
}

/// A top-level declaration: its name and its tokens.
#[derive(Debug)]
struct Declaration {
    name: String,
    tokens: Vec<Token>,
}

fn declarations(text: &str) -> Vec<Declaration> {
    let mut out = Vec::new();
    let mut depth = 0_usize;
    let mut current: Vec<Token> = Vec::new();
    for token in tokens(text) {
        let word = &text[token.clone()];
        let ends = match word {
            "{" | "(" | "[" => {
                depth += 1;
                false
            }
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                depth == 0 && word == "}"
            }
            ";" => depth == 0,
            _ => false,
        };
        current.push(token);
        if ends {
            out.push(Declaration { name: name_of(text, &current), tokens: std::mem::take(&mut current) });
        }
    }
    if !current.is_empty() {
        out.push(Declaration { name: name_of(text, &current), tokens: current });
    }
    out
}

fn name_of(text: &str, tokens: &[Token]) -> String {
    const KEYWORDS: &[&str] = &["fn", "struct", "var", "const", "override", "alias"];
    let word = |token: &Token| text[token.clone()].to_owned();
    let Some(keyword) = tokens.iter().position(|token| KEYWORDS.contains(&word(token).as_str())) else {
        return String::new();
    };
    let mut rest = tokens[keyword + 1..].iter();
    let mut name = rest.next().map(word).unwrap_or_default();
    if name == "<" {
        // `var<uniform> name`
        name = rest.skip_while(|token| word(token) != ">").nth(1).map(word).unwrap_or_default();
    }
    name
}

/// Line and column, one-based, of a byte offset.
pub(crate) fn line_column(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..floor_char(text, offset)];
    let line = before.matches('\n').count() as u32 + 1;
    (line, (before.len() - before.rfind('\n').map_or(0, |newline| newline + 1)) as u32 + 1)
}

fn floor_char(text: &str, offset: usize) -> usize {
    (0..=offset.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The name of the declaration of `output` around an offset, and the offset's
/// place in a source that declares it under the name that `find` answers with:
/// (source, name there).
pub(crate) fn map_back<'a>(
    output: &str,
    offset: usize,
    find: impl Fn(&str) -> Option<(&'a str, String)>,
) -> Option<(&'a str, u32, u32)> {
    let holds = |declaration: &&Declaration| {
        declaration.tokens.first().is_some_and(|first| first.start <= offset)
            && declaration.tokens.last().is_some_and(|last| offset <= last.end)
    };
    let compiled = declarations(output);
    let compiled = compiled.iter().find(holds)?;
    let (source, name) = find(&compiled.name)?;
    let authored = declarations(source);
    let authored = authored.iter().find(|declaration| declaration.name == name)?;

    let index = compiled.tokens.iter().rposition(|token| token.start <= offset)?;
    let word = &output[compiled.tokens[index].clone()];
    let nearest = authored
        .tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| &source[(*token).clone()] == word)
        .min_by_key(|(at, _)| at.abs_diff(index))
        .or_else(|| authored.tokens.iter().enumerate().min_by_key(|(at, _)| at.abs_diff(index)))?;
    let (line, column) = line_column(source, nearest.1.start);
    Some((source, line, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_reprinted_code_is_found_in_the_source() {
        let source = "// note\nfn first() {}\n\nfn second(a: f32) -> f32 {\n    // why\n    let b = a + 1;\n\n    return b * c;\n}\n";
        let output = "fn second_x(a: f32) -> f32 { let b = (a + 1); return (b * c); } fn first() {}";
        let offset = output.find('c').map(|_| output.rfind("c)").unwrap()).unwrap();
        let found = map_back(output, offset, |name| (name == "second_x").then(|| (source, "second".to_owned())));
        assert_eq!(found.map(|(_, line, column)| (line, column)), Some((8, 16)));
    }

    #[test]
    fn declarations_are_named() {
        let names: Vec<String> = declarations("@group(2) @binding(0) var<uniform> material: Material;\nconst A: f32 = 1.0;\n@fragment fn main() { let x = 1; }\nstruct S { a: f32, }")
            .into_iter()
            .map(|d| d.name)
            .collect();
        assert_eq!(names, ["material", "A", "main", "S"]);
    }
}
