//! Writes HTML. Markup is `'static`, so text that was read from a file cannot become markup: it is escaped.

use std::fmt::{self, Display, Write};

use syncedmem_core::text::{self, is_steering};

#[derive(Default)]
pub struct Html(String);

impl Html {
    pub fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Writes escaped text, between tags or in a quoted attribute.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(Escaped(&mut self.0), "{text}");
        self
    }

    /// Writes the head of a table and the beginning of its body. A column whose name begins with `#` holds numbers.
    pub fn heads(&mut self, columns: &[&'static str]) -> &mut Self {
        self.markup("<thead><tr>");
        for column in columns {
            match column.strip_prefix('#') {
                Some(column) => self.markup("<th scope=\"col\" class=\"n\">").markup(column).markup("</th>"),
                None => self.markup("<th scope=\"col\">").markup(column).markup("</th>"),
            };
        }
        self.markup("</tr></thead><tbody>")
    }

    /// Writes a cell with a number: as it is shown, and raw for sorting.
    pub fn number(&mut self, number: u64, shown: impl Display) -> &mut Self {
        self.cell(number).markup(" data-v=\"").text(number).markup("\">").text(shown).markup("</td>")
    }

    /// Writes a cell with a number whose name is unique in this process.
    pub fn fact(&mut self, name: impl Display, number: u64, shown: impl Display) -> &mut Self {
        self.cell(number).markup(" data-fact=\"").text(name).markup("\" data-v=\"").text(number);
        self.markup("\">").text(shown).markup("</td>")
    }

    /// Zeros are drawn paler.
    fn cell(&mut self, number: u64) -> &mut Self {
        self.markup(if number == 0 { "<td class=\"n zero\"" } else { "<td class=\"n\"" })
    }

    /// Writes a place, whose line may break after `::`.
    pub fn place(&mut self, place: &str) -> &mut Self {
        self.markup("<bdi>");
        for (part, text) in place.split("::").enumerate() {
            if part > 0 {
                self.markup("::<wbr>");
            }
            self.text(text);
        }
        self.markup("</bdi>")
    }

    pub fn who(&mut self, who: &str) -> &mut Self {
        self.markup("<th scope=\"row\" class=\"who\">").place(who).markup("</th>")
    }

    /// Writes the beginning of a row about a band of a chart: its colour and name.
    pub fn band(&mut self, colour: usize, name: &str) -> &mut Self {
        self.markup("<tr><th scope=\"row\" class=\"who\"><i class=\"c").text(colour).markup("\"></i>");
        self.place(name).markup("</th>")
    }

    pub fn finish(self) -> String {
        self.0
    }
}

struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c if is_steering(c) && !matches!(c, '\n' | '\t') => {
                    write!(self.0, "{}", text::Escaped(c.encode_utf8(&mut [0; 4]).as_bytes()))?;
                }
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}
