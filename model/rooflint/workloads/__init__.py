"""Networks: op tables, data flow, fusion and memory footprint; `capture` is all that needs torch."""
