//! The operating system behind the seams.
