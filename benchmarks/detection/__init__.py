"""Part models: speed of scoring, memory and time of training, accuracy on INRIA and Penn-Fudan."""
