"""What the benchmarks share: reports, the machine, llama.cpp as a peer,
servers."""
