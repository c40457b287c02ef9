"""One file per question about stored trials: frames in, frames out."""
