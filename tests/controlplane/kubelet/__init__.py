"""A kubelet for tests: pods of a real API server, run as processes of this machine.

All that it runs it takes from the Pod object that the API server holds, so that it shows what the
operator, the webhooks and the compiler put there, and nothing else. What a process of this machine
cannot have as a container has it is made up for, in one place each: an image by its folder of
images/ (`images`), mounts by folders whose paths are written into words and variables (`mounts`,
`localpaths`), the network of the pods by addresses of loopback (`names`).

Not there: probes (a container is ready while it runs), limits of resources, users and capabilities.
"""
