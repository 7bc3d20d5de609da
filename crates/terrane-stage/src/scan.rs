//! A look at usda text before it is parsed.
//!
//! The parser recurses, so deep nesting overflows its stack; it loops for ever
//! on a prim with an empty name; and it reads past what was written of a tuple
//! that is too short. This scan finds the three in one linear pass without
//! recursion. It knows strings, comments, asset paths and prim paths just well
//! enough to leave their contents alone.

/// Brackets of any kind may nest this deep.
const MAX_NESTING: usize = 128;

/// A place in a layer's text and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextFault {
    /// One-based.
    pub line: u32,
    /// One-based, in characters.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl TextFault {
    /// The fault at a byte offset of `text`.
    pub fn at(text: &[u8], offset: usize, message: impl Into<String>) -> Self {
        let before = &text[..offset.min(text.len())];
        let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        let column = 1 + String::from_utf8_lossy(&before[line_start..]).chars().count();
        Self { line: saturate(line), column: saturate(column), message: message.into() }
    }
}

fn saturate(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Refuses text that the parser must not see.
pub(crate) fn check(text: &str) -> Result<(), TextFault> {
    Scan { text: text.as_bytes(), at: 0, open: Vec::new(), statement: Statement::default() }.run()
}

/// What the current statement has said so far.
#[derive(Default)]
struct Statement {
    /// `def`, `over` or `class` began it, and no name has come yet.
    prim: bool,
    /// How many numbers a tuple of its value type has.
    arity: Option<usize>,
    /// The `=` has come.
    assigned: bool,
}

/// An open bracket.
struct Open {
    bracket: u8,
    /// Offset of the bracket.
    at: usize,
    /// It is part of a value: a tuple, a list, time samples, a dictionary.
    value: bool,
    /// Values written directly in it.
    values: usize,
    /// A value has begun since the last comma.
    in_value: bool,
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    open: Vec<Open>,
    statement: Statement,
}

impl Scan<'_> {
    fn run(mut self) -> Result<(), TextFault> {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'#' => self.skip_line(),
                b'/' if self.text.get(self.at + 1) == Some(&b'/') => self.skip_line(),
                b'/' if self.text.get(self.at + 1) == Some(&b'*') => self.skip_past(b"*/", 2),
                b'"' | b'\'' => self.string(byte)?,
                b'@' => self.asset(),
                b'<' => self.prim_path(),
                b'(' | b'[' | b'{' => self.open_bracket(byte)?,
                b')' | b']' | b'}' => self.close_bracket(byte)?,
                b'=' => {
                    self.statement.assigned = true;
                    self.at += 1;
                }
                b'\n' | b';' => {
                    // A prim's name may stand on the next line.
                    if !self.inside_value() && !self.statement.prim {
                        self.statement = Statement::default();
                    }
                    self.at += 1;
                }
                b',' => {
                    if let Some(open) = self.open.last_mut() {
                        open.in_value = false;
                    }
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                _ => self.word(),
            }
        }
        Ok(())
    }

    /// True inside the brackets of a value.
    fn inside_value(&self) -> bool {
        self.open.last().is_some_and(|open| open.value)
    }

    fn fault(&self, offset: usize, message: impl Into<String>) -> TextFault {
        TextFault::at(self.text, offset, message)
    }

    fn value_begins(&mut self) {
        if let Some(open) = self.open.last_mut()
            && !open.in_value
        {
            open.in_value = true;
            open.values += 1;
        }
    }

    fn open_bracket(&mut self, bracket: u8) -> Result<(), TextFault> {
        if self.open.len() >= MAX_NESTING {
            return Err(self.fault(self.at, format!("brackets nest deeper than {MAX_NESTING}")));
        }
        self.value_begins();
        self.open.push(Open { bracket, at: self.at, value: self.statement.assigned, values: 0, in_value: false });
        self.at += 1;
        Ok(())
    }

    fn close_bracket(&mut self, bracket: u8) -> Result<(), TextFault> {
        let Some(open) = self.open.pop() else {
            return Err(self.fault(self.at, format!("`{}` closes nothing", char::from(bracket))));
        };
        if open.value
            && open.bracket == b'('
            && let Some(arity) = self.statement.arity
            && open.values < arity
        {
            let message = format!("a value has {} of {arity} components", open.values);
            return Err(self.fault(open.at, message));
        }
        self.at += 1;
        // Several statements may stand on one line.
        if (open.value || open.bracket == b'{') && !self.inside_value() {
            self.statement = Statement::default();
        }
        Ok(())
    }

    /// A word: a keyword, a type, a name, a number.
    fn word(&mut self) {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|&b| !b" \t\r\n#\"'@<()[]{}=,;/".contains(&b)) {
            self.at += 1;
        }
        if self.at == start {
            self.at += 1;
            return;
        }
        let word = &self.text[start..self.at];
        self.value_begins();
        if matches!(word, b"def" | b"over" | b"class") && !self.inside_value() {
            self.statement = Statement { prim: true, ..Statement::default() };
        } else if !self.statement.assigned
            && let Some(arity) = arity_of(word)
        {
            self.statement.arity = Some(arity);
        }
    }

    fn string(&mut self, quote: u8) -> Result<(), TextFault> {
        let start = self.at;
        self.value_begins();
        let triple = [quote; 3];
        let long = self.text[start..].starts_with(&triple);
        let width = if long { 3 } else { 1 };
        let mut end = start + width;
        loop {
            match self.text.get(end) {
                None => return Err(self.fault(start, "a string is not closed")),
                Some(b'\\') => end += 2,
                Some(b'\n') if !long => return Err(self.fault(start, "a string is not closed on its line")),
                Some(_) if self.text[end..].starts_with(&triple[..width]) => break,
                Some(_) => end += 1,
            }
        }
        if self.statement.prim && !self.statement.assigned {
            let name = String::from_utf8_lossy(&self.text[start + width..end]);
            if !is_identifier(&name) {
                return Err(self.fault(start, format!("`{name}` is not a legal prim name")));
            }
            self.statement.prim = false;
        }
        self.at = end + width;
        Ok(())
    }

    fn asset(&mut self) {
        self.value_begins();
        if self.text[self.at..].starts_with(b"@@@") { self.skip_past(b"@@@", 3) } else { self.skip_past(b"@", 1) }
    }

    /// `<...>` on one line; a lone `<` is left to the parser.
    fn prim_path(&mut self) {
        self.value_begins();
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|&b| b == b'>' || b == b'\n').unwrap_or(rest.len());
        self.at += if rest.get(end) == Some(&b'>') { end + 1 } else { 1 };
    }

    fn skip_line(&mut self) {
        self.at = self.text[self.at..].iter().position(|&b| b == b'\n').map_or(self.text.len(), |n| self.at + n);
    }

    /// Moves past the next `mark` at least `skip` bytes from here.
    fn skip_past(&mut self, mark: &[u8], skip: usize) {
        let from = (self.at + skip).min(self.text.len());
        let found = self.text[from..].windows(mark.len()).position(|window| window == mark);
        self.at = found.map_or(self.text.len(), |n| from + n + mark.len());
    }
}

/// A USD identifier: a letter or `_`, then letters, digits and `_`, Unicode
/// included.
fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic()) && chars.all(|c| c == '_' || c.is_alphanumeric())
}

/// Components of a value of a tuple type; `None` for others. Matrices are
/// tuples of tuples and are left to the parser.
fn arity_of(word: &[u8]) -> Option<usize> {
    const TYPES: &[(usize, &[&str])] = &[
        (2, &["half2", "float2", "double2", "int2", "texCoord2h", "texCoord2f", "texCoord2d"]),
        (
            3,
            &[
                "half3",
                "float3",
                "double3",
                "int3",
                "point3h",
                "point3f",
                "point3d",
                "vector3h",
                "vector3f",
                "vector3d",
                "normal3h",
                "normal3f",
                "normal3d",
                "color3h",
                "color3f",
                "color3d",
                "texCoord3h",
                "texCoord3f",
                "texCoord3d",
            ],
        ),
        (4, &["half4", "float4", "double4", "int4", "color4h", "color4f", "color4d", "quath", "quatf", "quatd"]),
    ];
    let word = std::str::from_utf8(word).ok()?;
    TYPES.iter().find(|(_, names)| names.contains(&word)).map(|(arity, _)| *arity)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Option<(u32, String)> {
        check(text).err().map(|fault| (fault.line, fault.message))
    }

    #[test]
    fn deep_nesting_is_refused_with_its_line() {
        let text = format!("#usda 1.0\n{}", "def \"a\" {\n".repeat(20_000));
        assert_eq!(fault(&text), Some((130, "brackets nest deeper than 128".into())));
    }

    #[test]
    fn brackets_in_strings_comments_and_paths_do_not_count() {
        let many = "({[".repeat(1000);
        for text in [
            format!("#usda 1.0\n# {many}\ndef \"a\" {{}}\n"),
            format!("#usda 1.0\n( doc = \"\"\"{many}\n{many}\"\"\" )\n"),
            format!("#usda 1.0\ndef \"a\" {{ asset x = @{many}@ }}\n"),
            format!("#usda 1.0\n/* {many} */\n"),
        ] {
            assert_eq!(fault(&text), None, "{text:.60}");
        }
    }

    #[test]
    fn a_prim_needs_a_legal_name() {
        for (text, name) in [("def \"\" {}", ""), ("def Xform \"a b\" {}", "a b"), ("over '1a' {}", "1a")] {
            assert_eq!(fault(text), Some((1, format!("`{name}` is not a legal prim name"))));
        }
        assert_eq!(fault("def Xform \"Größe_1\" (\n    doc = \"any text\"\n)\n{ custom string def = \"\" }"), None);
    }

    #[test]
    fn a_tuple_needs_all_its_components() {
        assert_eq!(fault("def \"a\" {\n  float3 x = (1, 2)\n}"), Some((2, "a value has 2 of 3 components".into())));
        assert_eq!(fault("def \"a\" { color3f[] x = [(1,2,3), (1,)] }").unwrap().0, 1);
        assert_eq!(fault("def \"a\" { float3 x.timeSamples = { 0: (1, 2), } }").unwrap().0, 1);
        for good in [
            "def \"a\" { float3 x = (1, 2, 3) (doc = \"x\") }",
            "def \"a\" { color3f[] x = [(1, 2,\n 3), (1, 2, 3,)] }",
            "def \"a\" { matrix4d m = ( (1,0,0,0), (0,1,0,0), (0,0,1,0), (0,0,0,1) ) }",
            "def \"a\" { double3 t = (0, 1, 2) float3 s (\n doc = \"no value\"\n) quatf q = (1, 0, 0, 0) }",
            "def \"a\" { float3 x.timeSamples = {\n 0: (1, 2, 3),\n 1: None,\n } \n token y = \"(\" }",
        ] {
            assert_eq!(fault(good), None, "{good}");
        }
    }
}
