"""What a wrapped runner's author declares of its inputs, tried out at its calls.

`inputs` fills declared inputs with a pattern before a call and looks, just before the graph is replayed,
where it is still there; `padding` calls the runner with two fillings of the rows that must not matter;
`consumed` asks whether any graph reads what is written.
"""
