"""The recorder in Python, for a torch that has no compiled one and no compiler to build one: `hooks` has the functions of
opdump._torch.recorder. It records by the same dispatch key through the same C interface, so the files are the same; each operator
takes longer."""
