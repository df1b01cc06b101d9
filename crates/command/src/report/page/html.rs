//! Markup is `'static`, so text that was read cannot become markup: all other text is escaped.

use std::fmt::{self, Display, Write};

use syncedmem_trace::text::{self, is_steering};

#[derive(Default)]
pub struct Html(String);

impl Html {
    pub fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Between tags or in a quoted attribute.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(Escaped(&mut self.0), "{text}");
        self
    }

    /// The head of a table, and the beginning of its body. A column whose name begins with `#` holds numbers.
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

    /// A cell with a number: for people, and raw for sorting.
    pub fn number(&mut self, number: u64, shown: impl Display) -> &mut Self {
        self.cell(number).markup(" data-v=\"").text(number).markup("\">").text(shown).markup("</td>")
    }

    /// A number with a name that is unique in this process.
    pub fn fact(&mut self, name: impl Display, number: u64, shown: impl Display) -> &mut Self {
        self.cell(number).markup(" data-fact=\"").text(name).markup("\" data-v=\"").text(number);
        self.markup("\">").text(shown).markup("</td>")
    }

    /// A zero is drawn paler.
    fn cell(&mut self, number: u64) -> &mut Self {
        self.markup(if number == 0 { "<td class=\"n zero\"" } else { "<td class=\"n\"" })
    }

    /// A place with the points at which its line may break.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_text_never_becomes_markup() {
        let mut html = Html::default();
        html.markup("<b title=\"").text("\"'><script>").markup("\">").text("a & b<c>\0\u{202e}").markup("</b>");
        let expected = "<b title=\"&quot;&#39;&gt;&lt;script&gt;\">a &amp; b&lt;c&gt;\\x00\\u202e</b>";
        assert_eq!(html.finish(), expected);
    }

    #[test]
    fn a_long_place_may_be_broken_between_its_parts() {
        let mut html = Html::default();
        html.place("a<b>::c");
        assert_eq!(html.finish(), "<bdi>a&lt;b&gt;::<wbr>c</bdi>");
    }

    #[test]
    fn a_number_is_there_to_be_read_and_to_be_sorted() {
        let mut html = Html::default();
        html.fact("peak", 2048, "2 KiB");
        assert_eq!(html.finish(), "<td class=\"n\" data-fact=\"peak\" data-v=\"2048\">2 KiB</td>");
    }
}
