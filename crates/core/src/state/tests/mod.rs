//! Promises of identity and state, on drafts made by hand.
