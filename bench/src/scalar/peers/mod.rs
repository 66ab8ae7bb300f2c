//! The same functions by other libraries, one library = one file: written with its own traits, as its users would write them, and
//! differentiated in every way that it has for a gradient.

#[cfg(feature = "peers")]
pub mod ad_trait;
#[cfg(feature = "peers")]
pub mod echidna;
#[cfg(feature = "peers")]
pub mod num_dual;
#[cfg(feature = "peers")]
pub mod reverse;
