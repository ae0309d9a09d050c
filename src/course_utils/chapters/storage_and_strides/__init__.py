"""What the chapter on storage and strides compares with: what known slips give."""
