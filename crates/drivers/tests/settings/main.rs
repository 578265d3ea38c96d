//! The promises about the user's settings file: only our entries come and go, and whatever goes wrong the
//! file is as it was.

mod cases;
mod files;
mod golden;
mod merge;
mod property;
mod support;
