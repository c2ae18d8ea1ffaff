SELECT domain FROM (
  SELECT domain, rowNumberInAllBlocks() AS number FROM (SELECT domain FROM db.diff ORDER BY domain)
) WHERE number % 350000 = 0