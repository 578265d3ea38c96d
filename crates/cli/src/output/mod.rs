//! What commands print: machine forms that are a contract, and human forms that are free to change.

pub(crate) mod session;
pub(crate) mod table;
pub(crate) mod time;
