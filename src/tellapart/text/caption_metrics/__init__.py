"""Caption metrics as values: how good is a caption, given what people wrote of the same image?"""
