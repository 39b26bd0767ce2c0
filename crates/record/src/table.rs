//! Turns row structs into tables: columns with a sentence and a unit each, Arrow builders, and back.
//!
//! `table!` declares a row struct once; the doc comments of its fields become the descriptions of the
//! columns, so that code and file cannot disagree. [`Row`] is what writers and readers need of it.
//! Reference: Apache Arrow columnar format 1.5 (field metadata).
//!
//! Leaves out nested columns: a row is flat.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use compact_str::CompactString;

use crate::chunk::ByHand;
use crate::coded::{Key, Texts};
use crate::numbers::{Number, Numbers};

/// What a column is called and means.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name, as in the row struct.
    pub name: &'static str,
    /// One or more sentences; stored as `description` in the field's metadata.
    pub about: String,
    /// Unit (`ns`, `B`, `bit/s`, `packets` …); `None` for numbers that count nothing, such as ids.
    pub unit: Option<&'static str>,
    /// The words the column may hold; empty when it holds no words.
    pub words: &'static [&'static str],
    /// Arrow type.
    pub data_type: DataType,
    /// Whether "not seen" or "does not apply" can occur.
    pub nullable: bool,
}

/// A row of one of the tables of a run.
pub trait Row: Sized + Clone + std::fmt::Debug + PartialEq + 'static {
    /// File name in the run directory.
    const FILE: &'static str;
    #[doc(hidden)]
    type Builders: Default + Send;
    /// What the table holds.
    fn about() -> String;
    /// The columns in file order.
    fn columns() -> Vec<Column>;
    #[doc(hidden)]
    fn append(&self, builders: &mut Self::Builders);
    /// Appends rows column after column, which is quicker.
    #[doc(hidden)]
    fn append_all(rows: &[Self], builders: &mut Self::Builders);
    #[doc(hidden)]
    fn gathered(builders: &mut Self::Builders) -> Vec<&mut dyn Gather>;
    #[doc(hidden)]
    fn take(batch: &RecordBatch, index: usize) -> Option<Self>;

    /// The table's Arrow schema: every field carries `description` and, where it has them, `unit` and
    /// `values`; the schema itself carries `description` and `schema_version`.
    fn schema() -> Arc<Schema> {
        let fields: Vec<Field> = Self::columns().into_iter().map(field).collect();
        let about = HashMap::from([
            ("description".to_owned(), Self::about()),
            ("schema_version".to_owned(), crate::SCHEMA_VERSION.to_string()),
        ]);
        Arc::new(Schema::new_with_metadata(fields, about))
    }
}

fn field(column: Column) -> Field {
    let mut metadata = HashMap::from([("description".to_owned(), column.about)]);
    if let Some(unit) = column.unit {
        metadata.insert("unit".to_owned(), unit.to_owned());
    }
    if !column.words.is_empty() {
        metadata.insert("values".to_owned(), column.words.join(" "));
    }
    Field::new(column.name, column.data_type, column.nullable).with_metadata(metadata)
}

/// What gathers the cells of one column.
pub trait Gather {
    #[doc(hidden)]
    fn take_array(&mut self) -> ArrayRef;
    /// Where they need no encoder.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn by_hand(&mut self) -> Option<&mut dyn ByHand> {
        None
    }
}

impl Gather for Texts {
    fn take_array(&mut self) -> ArrayRef {
        Self::take_array(self)
    }
    fn by_hand(&mut self) -> Option<&mut dyn ByHand> {
        Some(self)
    }
}

impl<T: Number> Gather for Numbers<T> {
    fn take_array(&mut self) -> ArrayRef {
        Self::take_array(self)
    }
    fn by_hand(&mut self) -> Option<&mut dyn ByHand> {
        Some(self)
    }
}

impl Gather for StringBuilder {
    fn take_array(&mut self) -> ArrayRef {
        let bytes = self.values_slice().len();
        let array = ArrayBuilder::finish(self);
        // The next batch is like this one.
        *self = Self::with_capacity(array.len(), bytes);
        array
    }
}

/// A type a column can have.
pub(crate) trait Cell: Sized + 'static {
    type Builder: Gather;
    const DATA_TYPE: DataType;
    const NULLABLE: bool;
    fn append(&self, builder: &mut Self::Builder, words: &'static [&'static str]);
    #[inline]
    fn append_all<'a>(
        cells: impl Iterator<Item = &'a Self> + Clone,
        builder: &mut Self::Builder,
        words: &'static [&'static str],
    ) {
        cells.for_each(|cell| cell.append(builder, words));
    }
    /// Reads back; `None` where the array has another type or holds an unknown word.
    fn take(array: &dyn Array, index: usize, words: &'static [&'static str]) -> Option<Self>;
}

macro_rules! number_cell {
    ($type:ty, $data_type:ident, $array:ident) => {
        impl Cell for $type {
            type Builder = Numbers<$type>;
            const DATA_TYPE: DataType = DataType::$data_type;
            const NULLABLE: bool = false;
            #[inline]
            fn append(&self, builder: &mut Self::Builder, _: &'static [&'static str]) {
                builder.append(*self);
            }
            #[inline]
            fn append_all<'a>(
                cells: impl Iterator<Item = &'a Self> + Clone,
                builder: &mut Self::Builder,
                _: &'static [&'static str],
            ) {
                builder.extend(cells);
            }
            fn take(array: &dyn Array, index: usize, _: &'static [&'static str]) -> Option<Self> {
                let array = array.as_any().downcast_ref::<$array>()?;
                array.is_valid(index).then(|| array.value(index))
            }
        }
        impl Cell for Option<$type> {
            type Builder = Numbers<$type>;
            const DATA_TYPE: DataType = DataType::$data_type;
            const NULLABLE: bool = true;
            #[inline]
            fn append(&self, builder: &mut Self::Builder, _: &'static [&'static str]) {
                builder.append_option(*self);
            }
            #[inline]
            fn append_all<'a>(
                cells: impl Iterator<Item = &'a Self> + Clone,
                builder: &mut Self::Builder,
                _: &'static [&'static str],
            ) {
                builder.extend_options(cells);
            }
            fn take(array: &dyn Array, index: usize, words: &'static [&'static str]) -> Option<Self> {
                if array.is_null(index) { Some(None) } else { <$type>::take(array, index, words).map(Some) }
            }
        }
    };
}

number_cell!(u8, UInt8, UInt8Array);
number_cell!(u16, UInt16, UInt16Array);
number_cell!(u32, UInt32, UInt32Array);
number_cell!(u64, UInt64, UInt64Array);
number_cell!(f64, Float64, Float64Array);
number_cell!(bool, Boolean, BooleanArray);

/// A text of an array; `None` where it is null or the array holds something else.
pub(crate) fn text(array: &dyn Array, index: usize) -> Option<&str> {
    let array = array.as_any().downcast_ref::<StringArray>()?;
    array.is_valid(index).then(|| array.value(index))
}

/// Words lie somewhere for good: where tells them apart.
#[inline]
fn key(word: &'static str) -> Key {
    ((word.as_ptr() as usize as u128) << 64 | word.len() as u128, 0)
}

impl Cell for &'static str {
    type Builder = Texts;
    const DATA_TYPE: DataType = DataType::Utf8;
    const NULLABLE: bool = false;
    #[inline]
    fn append(&self, builder: &mut Texts, words: &'static [&'static str]) {
        debug_assert!(words.contains(self), "{self:?} is none of {words:?}");
        builder.append(key(self), || (*self).to_owned());
    }
    fn take(array: &dyn Array, index: usize, words: &'static [&'static str]) -> Option<Self> {
        let text = text(array, index)?;
        words.iter().copied().find(|word| *word == text)
    }
}

/// The cell that may be null, of a cell kept as [`Texts`].
macro_rules! optional_text {
    ($type:ty) => {
        impl Cell for Option<$type> {
            type Builder = Texts;
            const DATA_TYPE: DataType = DataType::Utf8;
            const NULLABLE: bool = true;
            #[inline]
            fn append(&self, builder: &mut Texts, words: &'static [&'static str]) {
                match self {
                    Some(cell) => cell.append(builder, words),
                    None => builder.append_null(),
                }
            }
            fn take(array: &dyn Array, index: usize, words: &'static [&'static str]) -> Option<Self> {
                if array.is_null(index) { Some(None) } else { <$type>::take(array, index, words).map(Some) }
            }
        }
    };
}
pub(crate) use optional_text;

optional_text!(&'static str);

/// The cell of texts that are all different.
macro_rules! string {
    ($type:ty) => {
        impl Cell for $type {
            type Builder = StringBuilder;
            const DATA_TYPE: DataType = DataType::Utf8;
            const NULLABLE: bool = false;
            #[inline]
            fn append(&self, builder: &mut StringBuilder, _: &'static [&'static str]) {
                builder.append_value(self);
            }
            fn take(array: &dyn Array, index: usize, _: &'static [&'static str]) -> Option<Self> {
                text(array, index).map(Self::from)
            }
        }
    };
}

string!(String);
// Short ones need no memory of their own, which one thread would take and another give back.
string!(CompactString);

/// The cell that may be null of texts that are all different.
macro_rules! optional_string {
    ($type:ty) => {
        impl Cell for Option<$type> {
            type Builder = StringBuilder;
            const DATA_TYPE: DataType = DataType::Utf8;
            const NULLABLE: bool = true;
            #[inline]
            fn append(&self, builder: &mut StringBuilder, _: &'static [&'static str]) {
                builder.append_option(self.as_deref());
            }
            fn take(array: &dyn Array, index: usize, words: &'static [&'static str]) -> Option<Self> {
                if array.is_null(index) {
                    Some(None)
                } else {
                    String::take(array, index, words).map(|text| Some(text.into()))
                }
            }
        }
    };
}

optional_string!(String);
optional_string!(CompactString);
// Texts that most often are one of a few need no memory of their own.
optional_string!(Cow<'static, str>);

/// Joins the lines of a doc comment, which each begin with the space after `///`.
pub(crate) fn sentence(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Declares a row struct and its [`Row`] implementation; see the module.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        #[derive($($derive:ident),+)]
        pub struct $row:ident in $file:literal {
            $($(#[doc = $doc:literal])+ pub $name:ident: $type:ty $(= $unit:literal)? $(=> $words:ident)?,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive($($derive),+)]
        pub struct $row { $($(#[doc = $doc])+ pub $name: $type,)+ }

        const _: () = {
            use $crate::table::{Cell, Column, Gather, Row, sentence};

            #[derive(Default)]
            #[allow(missing_docs, unreachable_pub)]
            pub struct Builders { $($name: <$type as Cell>::Builder,)+ }

            impl Row for $row {
                const FILE: &'static str = $file;
                type Builders = Builders;
                fn about() -> String { sentence(concat!($($about),+)) }
                fn columns() -> Vec<Column> {
                    vec![$(Column {
                        name: stringify!($name),
                        about: sentence(concat!($($doc),+)),
                        unit: None$(.or(Some($unit)))?,
                        words: table!(@words $($words)?),
                        data_type: <$type as Cell>::DATA_TYPE,
                        nullable: <$type as Cell>::NULLABLE,
                    },)+]
                }
                #[inline]
                fn append(&self, builders: &mut Builders) {
                    $(self.$name.append(&mut builders.$name, table!(@words $($words)?));)+
                }
                fn append_all(rows: &[Self], builders: &mut Builders) {
                    $(<$type as Cell>::append_all(
                        rows.iter().map(|row| &row.$name), &mut builders.$name, table!(@words $($words)?));)+
                }
                fn gathered(builders: &mut Builders) -> Vec<&mut dyn Gather> {
                    vec![$(&mut builders.$name,)+]
                }
                fn take(batch: &arrow_array::RecordBatch, index: usize) -> Option<Self> {
                    Some(Self { $($name: <$type as Cell>::take(
                        batch.column_by_name(stringify!($name))?, index, table!(@words $($words)?))?,)+ })
                }
            }
        };
    };
    (@words) => { &[] };
    (@words $words:ident) => { $words };
}
pub(crate) use table;
