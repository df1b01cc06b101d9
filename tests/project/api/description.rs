//! The description of the C API: what it says, and how it is read from the source.

use serde::{Deserialize, Serialize};
use syn::{Expr, Fields, Item, Lit, Meta, Type, Visibility};

use super::spelling;
use crate::sources::Header;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    pub library: String,
    pub version: String,
    pub constants: Vec<Number>,
    pub enums: Vec<Enumeration>,
    pub structs: Vec<Structure>,
    pub opaque: Vec<Opaque>,
    pub callbacks: Vec<Function>,
    pub functions: Vec<Function>,
}

/// A constant, or a value of an enumeration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Number {
    pub name: String,
    pub value: i64,
    pub doc: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Enumeration {
    pub name: String,
    #[serde(rename = "type")]
    pub of: String,
    pub values: Vec<Number>,
    pub doc: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Structure {
    pub name: String,
    pub fields: Vec<Field>,
    pub doc: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    #[serde(rename = "type")]
    pub of: String,
    pub doc: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opaque {
    pub name: String,
    pub doc: String,
}

/// A function, or the type of one that the caller gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    pub name: String,
    /// The header that declares it.
    pub header: String,
    pub returns: String,
    pub parameters: Vec<Parameter>,
    pub doc: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    pub name: String,
    #[serde(rename = "type")]
    pub of: String,
}

impl Description {
    /// What the sources of headers say.
    pub fn of_headers<'a>(headers: impl IntoIterator<Item = &'a Header>) -> Self {
        let mut description = Self {
            library: env!("CARGO_PKG_NAME").to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            constants: Vec::new(),
            enums: Vec::new(),
            structs: Vec::new(),
            opaque: Vec::new(),
            callbacks: Vec::new(),
            functions: Vec::new(),
        };
        for header in headers {
            for file in header.sources() {
                let source = std::fs::read_to_string(file).unwrap();
                for item in syn::parse_file(&source).unwrap().items {
                    description.add(item, header.name);
                }
            }
        }
        description
    }

    /// Adds what an item of the source says, if it belongs to the API.
    fn add(&mut self, item: Item, header: &str) {
        match item {
            Item::Const(item) if is_public(&item.vis) && is_integer(&item.ty) => {
                let value = integer(&item.expr);
                self.constants.push(Number { name: item.ident.to_string(), value, doc: doc(&item.attrs) });
            }
            Item::Enum(item) if is_public(&item.vis) => {
                let values = item.variants.iter().map(|variant| {
                    let (_, value) = variant.discriminant.as_ref().expect("every value is written out");
                    Number { name: variant.ident.to_string(), value: integer(value), doc: doc(&variant.attrs) }
                });
                assert_eq!(repr(&item.attrs).as_deref(), Some("i32"), "{}", item.ident);
                self.enums.push(Enumeration {
                    name: item.ident.to_string(),
                    of: "int32_t".to_string(),
                    values: values.collect(),
                    doc: doc(&item.attrs),
                });
            }
            Item::Struct(item) if is_public(&item.vis) => {
                let (name, doc_of) = (item.ident.to_string(), doc(&item.attrs));
                match (&item.fields, repr(&item.attrs).as_deref()) {
                    (Fields::Named(fields), Some("C")) => {
                        let fields = fields.named.iter().map(|field| Field {
                            name: field.ident.as_ref().expect("it is named").to_string(),
                            of: spelling::of_type(&field.ty),
                            doc: doc(&field.attrs),
                        });
                        self.structs.push(Structure { name, fields: fields.collect(), doc: doc_of });
                    }
                    // A type without C's layout is used by pointer only.
                    _ => self.opaque.push(Opaque { name, doc: doc_of }),
                }
            }
            Item::Type(item) if is_public(&item.vis) => {
                let Some(callback) = spelling::function_pointer(&item.ty) else { return };
                let parameters = callback.inputs.iter().map(|input| {
                    let (name, _) = input.name.as_ref().expect("a callback's parameters have names");
                    Parameter { name: name.to_string(), of: spelling::of_type(&input.ty) }
                });
                self.callbacks.push(Function {
                    name: item.ident.to_string(),
                    header: header.to_string(),
                    returns: spelling::of_return(&callback.output),
                    parameters: parameters.collect(),
                    doc: doc(&item.attrs),
                });
            }
            Item::Fn(item) if is_public(&item.vis) && item.sig.abi.is_some() => {
                self.functions.push(Function {
                    name: item.sig.ident.to_string(),
                    header: header.to_string(),
                    returns: spelling::of_return(&item.sig.output),
                    parameters: spelling::of_parameters(&item.sig),
                    doc: doc(&item.attrs),
                });
            }
            _ => {}
        }
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap() + "\n"
    }

    /// What a file's text says.
    pub fn from_json(text: &str) -> Self {
        serde_json::from_str(text).unwrap()
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_integer(of: &Type) -> bool {
    let Type::Path(path) = of else { return false };
    ["i32", "u32", "i64", "u64", "usize"].iter().any(|name| path.path.is_ident(name))
}

fn integer(value: &Expr) -> i64 {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().unwrap(),
            _ => panic!("not an integer"),
        },
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => -integer(&unary.expr),
        _ => panic!("a number of the API is written as one, not computed"),
    }
}

/// The sentences before an item, without the blank that a comment's line begins with.
fn doc(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(syn::ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_string()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn repr(attributes: &[syn::Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("repr"))?;
    Some(attribute.parse_args::<syn::Ident>().unwrap().to_string())
}
