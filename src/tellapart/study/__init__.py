"""Studies: what people are asked, who gets which task, and what they answered."""
