//! Publishing, waiting and failing, without loggers.
