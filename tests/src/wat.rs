//! Hostile modules, written as text.
